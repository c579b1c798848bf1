#!/bin/sh
# Starts one process of the site: web, worker, sender, messenger, beat or migrate. Other arguments, such as doctor, are
# passed to manage.py. If NAME is empty, it is read from the file that NAME_FILE names, such as a mounted secret.
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

# When the processor is busy, the web process gets nine times a worker's share. In compose.yaml it gets eight times.
work() {
  exec nice -n 10 python -m celery -A dashboard.celery --quiet --skip-checks worker --queues "$1" --pool threads \
    --concurrency "${CONCURRENCY:-4}" --without-mingle --without-gossip --hostname "$2@%h" --loglevel WARNING
}

case "${1:-web}" in
  web)
    python manage.py collectstatic --noinput --verbosity 0
    exec python -m granian --interface wsgi --no-ws --host "${HOST:-0.0.0.0}" --port "${PORT:-8000}" --workers "${WEB_WORKERS:-2}" \
      --blocking-threads 4 --log-level warning dashboard.wsgi:application
    ;;
  worker) work celery worker ;;
  sender) work sending sender ;;
  messenger) work messages messenger ;;
  beat) exec python -m celery -A dashboard.celery --quiet --skip-checks beat --pidfile= --loglevel WARNING ;;
  migrate) exec python manage.py migrate --noinput ;;
  *) exec python manage.py "$@" ;;
esac
