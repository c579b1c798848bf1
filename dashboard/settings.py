"""Django's settings. Every value that may differ between machines comes through `dashboard.env`."""

from datetime import timedelta
from pathlib import Path

from csp.constants import NONE, SELF
from kombu import Exchange, Queue

from dashboard import databases, env, private

BASE_DIR = Path(__file__).resolve().parent.parent
STATE_DIR = env.folder("TRAINBOARD_STATE", BASE_DIR / "var")
private.folder(STATE_DIR)

SECRET_KEY = env.secret("TRAINBOARD_SECRET_KEY", kept_in=STATE_DIR / "secret-key")
DEBUG = env.flag("TRAINBOARD_DEBUG", default=False)
ALLOWED_HOSTS = env.words("TRAINBOARD_HOSTS", "127.0.0.1,localhost,[::1]")
CSRF_TRUSTED_ORIGINS = env.words("TRAINBOARD_ORIGINS")

# ---------------------------------------------------------------- the domain's outside world
VERTEX_ENDPOINT = env.text("TRAINBOARD_VERTEX_ENDPOINT")
LOGGING_ENDPOINT = env.text("TRAINBOARD_LOGGING_ENDPOINT")
# The credential of an emulator that cannot tell whose a connection is; it is new at each of its starts.
VERTEX_TOKEN_FILE = env.text("TRAINBOARD_VERTEX_TOKEN_FILE")
INSTANCE = env.text("TRAINBOARD_INSTANCE", "trainboard")
POLL_INTERVAL = timedelta(seconds=env.number("TRAINBOARD_POLL_SECONDS", default=30, least=0.2))
SWEEP_INTERVAL = timedelta(seconds=env.number("TRAINBOARD_SWEEP_SECONDS", default=5, least=0.2))
# Google's quotas, which all workers together stay in: per project and region, and for logs per project.
CREATES_PER_MINUTE = env.whole("TRAINBOARD_CREATES_PER_MINUTE", default=60, least=1, most=1_000_000)
READS_PER_MINUTE = env.whole("TRAINBOARD_READS_PER_MINUTE", default=600, least=1, most=1_000_000)
LOG_READS_PER_MINUTE = env.whole("TRAINBOARD_LOG_READS_PER_MINUTE", default=60, least=1, most=1_000_000)
# True only under `manage.py up` with the emulator: the pages then say that commands run on this machine.
REHEARSAL = env.flag("TRAINBOARD_REHEARSAL", default=False)

# ---------------------------------------------------------------- Django
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "axes",
    "csp",
    "django_htmx",
    "template_partials",
    "jobs",
    "dashboard",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "dashboard.access.private.NoStoreMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "dashboard.access.known_password.KnownPasswordMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "dashboard.pages.sign_in.BusyMiddleware",
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "dashboard.urls"
WSGI_APPLICATION = "dashboard.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "dashboard.access.frame.frame",
            ],
            "builtins": [
                "template_partials.templatetags.partials",
                "dashboard.drawing.tags",
            ],
        },
    },
]

# SQLite serves one machine, PostgreSQL a team.
DATABASES = {"default": databases.database(env.text("DATABASE_URL") or databases.sqlite_url(STATE_DIR))}
SQLITE_FILE = databases.sqlite_file(DATABASES["default"])
if SQLITE_FILE is not None:
    private.database(SQLITE_FILE)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

SESSION_ENGINE = "dashboard.access.sessions"
# The first refuses whoever has failed too often, the second the demo's password where others reach the site; only then
# is time spent on checking a password.
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "dashboard.access.known_password.KnownPasswordBackend",
    "dashboard.access.sessions.PersonBackend",
]
AXES_HANDLER = "dashboard.access.sign_in_limits.SignInLimits"
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"], "ip_address"]  # in the order in which the handler reads them
AXES_FAILURE_LIMIT = 5  # of one account from one address
MAX_FAILURES_PER_ADDRESS = 50  # of all accounts from one address, which many people may share
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False  # a lock ends when the page says, and a flood writes nothing
AXES_RESET_ON_SUCCESS = True
AXES_CLIENT_IP_CALLABLE = "dashboard.access.addresses.client_address"
AXES_LOCKOUT_CALLABLE = "dashboard.pages.sign_in.locked_out"
AXES_DISABLE_ACCESS_LOG = True  # who signed in when is not kept
AXES_VERBOSE = False
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
] + [{"NAME": "dashboard.access.known_password.NotTheKnownPassword"}]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "board"
LOGOUT_REDIRECT_URL = "login"

LANGUAGE_CODE = "en-us"
TIME_ZONE = env.text("TRAINBOARD_TIME_ZONE", "UTC")
USE_I18N = False
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = STATE_DIR / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

# ---------------------------------------------------------------- security
SECURE = env.flag("TRAINBOARD_HTTPS", default=False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE
SECURE_HSTS_SECONDS = 31_536_000 if SECURE else 0
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if SECURE else None
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

# ---------------------------------------------------------------- Celery: it only makes the database's queue prompt
# The address of a Unix socket is unix://PATH for redis-py and redis+socket://PATH for Celery; either may be given.
REDIS_URL = (env.text("REDIS_URL") or "redis://127.0.0.1:6379/0").replace("redis+socket://", "unix://", 1)
CELERY_BROKER_URL = REDIS_URL.replace("unix://", "redis+socket://", 1)
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_PUBLISH_RETRY = False
# Workers take from both in turns: hundreds of jobs that wait to be sent must not keep running ones from being watched.
CELERY_TASK_QUEUES = [Queue(name, Exchange(name), routing_key=name) for name in ("celery", "sending")]
CELERY_TASK_ROUTES = {"jobs.tasks.advance": {"queue": "sending"}}
CELERY_WORKER_PREFETCH_MULTIPLIER = 1  # what a worker has set aside stands before every later sweep
# The longest that a task may run; then its worker's process ends, to be started again (dashboard.watchdog). Limits that
# Celery has itself do nothing for threads.
TASK_SECONDS = env.number("TRAINBOARD_TASK_SECONDS", default=300, least=1)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "socket_connect_timeout": 2,
    "socket_timeout": 10,
    "max_retries": 1,
    "interval_start": 0.1,
}
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BEAT_SCHEDULE = {
    "sweep": {
        "task": "jobs.tasks.sweep",
        "schedule": SWEEP_INTERVAL,
        # Later ones find the same rows; but when every thread is busy for a while, one of them has to come through.
        "options": {"expires": 3 * SWEEP_INTERVAL.total_seconds()},
    },
    # The database says whether a day has passed, so that no restart of beat matters.
    "prune": {"task": "jobs.tasks.prune", "schedule": timedelta(minutes=10), "options": {"expires": 600}},
}
CELERY_BEAT_SCHEDULE_FILENAME = str(STATE_DIR / "beat-schedule")

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": env.text("TRAINBOARD_LOG_LEVEL", "INFO")},
}
