#!/bin/sh
# Starts one process of the site: web, worker, sender, messenger, beat or migrate. Other arguments, such as doctor, are
# passed to `trainboard-server`. If NAME is empty, it is read from the file that NAME_FILE names, such as a mounted secret.
set -eu
cd "$(dirname "$0")/.."

providers=
for key in $(printf %s "${TRAINBOARD_OIDC:-}" | tr 'a-z,-' 'A-Z _'); do
  providers="$providers TRAINBOARD_OIDC_${key}_CLIENT_SECRET"
done

for name in DATABASE_URL REDIS_URL PGPASSWORD TRAINBOARD_SECRET_KEY TRAINBOARD_METRICS_TOKEN $providers; do
  eval "file=\${${name}_FILE:-} value=\${${name}:-}"
  if [ -n "$file" ] && [ -z "$value" ]; then
    value=$(cat "$file")
    export "$name=$value"
  fi
done

work() {
  exec python -m dashboard worker --queue "$1" --name "$2" --threads "${CONCURRENCY:-4}"
}

case "${1:-web}" in
  web) exec python -m dashboard web --host "${HOST:-0.0.0.0}" --workers "${WEB_WORKERS:-2}" ;;
  worker) work celery worker ;;
  sender) work sending sender ;;
  messenger) work messages messenger ;;
  beat) exec python -m dashboard beat ;;
  migrate) exec python -m dashboard migrate --noinput ;;
  *) exec python -m dashboard "$@" ;;
esac
