"""Django's settings. Every value that may differ between machines is read with `dashboard.env`."""

from datetime import timedelta
from decimal import Decimal
from pathlib import Path

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from kombu import Exchange, Queue

from dashboard import databases, env, logs, mail, private, sign_in_providers

BASE_DIR = Path(__file__).resolve().parent.parent
# Whether this is the installed package, in which the templates are inside. A checkout has them at the top.
IS_INSTALLED = (BASE_DIR / "dashboard" / "templates").is_dir()
TEMPLATES_DIR = BASE_DIR / "dashboard" / "templates" if IS_INSTALLED else BASE_DIR / "templates"
# The folder in which the processes of the site run.
WORK_DIR = Path.cwd() if IS_INSTALLED else BASE_DIR
STATE_DIR = env.folder("TRAINBOARD_STATE", WORK_DIR / "var")
private.folder(STATE_DIR)

SECRET_KEY = env.secret("TRAINBOARD_SECRET_KEY", kept_in=STATE_DIR / "secret-key")
DEBUG = env.flag("TRAINBOARD_DEBUG", default=False)
ALLOWED_HOSTS = env.words("TRAINBOARD_HOSTS", "127.0.0.1,localhost,[::1]")
CSRF_TRUSTED_ORIGINS = env.words("TRAINBOARD_ORIGINS")

# ---------------------------------------------------------------- the domain's outside world
VERTEX_ENDPOINT = env.text("TRAINBOARD_VERTEX_ENDPOINT")
LOGGING_ENDPOINT = env.text("TRAINBOARD_LOGGING_ENDPOINT")
MONITORING_ENDPOINT = env.text("TRAINBOARD_MONITORING_ENDPOINT")
STORAGE_ENDPOINT = env.text("TRAINBOARD_STORAGE_ENDPOINT")
IAM_ENDPOINT = env.text("TRAINBOARD_IAM_ENDPOINT")
BILLING_ENDPOINT = env.text("TRAINBOARD_BILLING_ENDPOINT")
# Whether Compute Engine is asked about Spot capacity, preemption rates and dates of reservations.
CAPACITY_ADVICE = env.flag("TRAINBOARD_CAPACITY_ADVICE", default=True)
# The credential of an emulator that cannot determine the owner of a connection. It is new after each start.
VERTEX_TOKEN_FILE = env.text("TRAINBOARD_VERTEX_TOKEN_FILE")
INSTANCE = env.text("TRAINBOARD_INSTANCE", "trainboard")
POLL_INTERVAL = timedelta(seconds=env.number("TRAINBOARD_POLL_SECONDS", default=30, least=0.2))
SWEEP_INTERVAL = timedelta(seconds=env.number("TRAINBOARD_SWEEP_SECONDS", default=5, least=0.2))
# Google's quotas, shared by all workers: per project and region, and for logs per project.
CREATES_PER_MINUTE = env.whole("TRAINBOARD_CREATES_PER_MINUTE", default=60, least=1, most=1_000_000)
READS_PER_MINUTE = env.whole("TRAINBOARD_READS_PER_MINUTE", default=600, least=1, most=1_000_000)
LOG_READS_PER_MINUTE = env.whole("TRAINBOARD_LOG_READS_PER_MINUTE", default=60, least=1, most=1_000_000)
# Requests that one API token may make per minute, counted over all web processes.
API_CALLS_PER_MINUTE = env.whole("TRAINBOARD_API_CALLS_PER_MINUTE", default=600, least=1, most=1_000_000)
# Texts that one person may have read as jobs per minute, and forms and requests that may be assessed.
IMPORTS_PER_MINUTE = env.whole("TRAINBOARD_IMPORTS_PER_MINUTE", default=60, least=1, most=1_000_000)
ASSESSMENTS_PER_MINUTE = env.whole("TRAINBOARD_ASSESSMENTS_PER_MINUTE", default=300, least=1, most=1_000_000)
# The token for /metrics. If it is empty, only clients on this machine may read them.
METRICS_TOKEN = env.text("TRAINBOARD_METRICS_TOKEN")
# Where traces are sent, from OpenTelemetry's own variables. If it is empty, nothing is traced.
TRACES_ENDPOINT = env.text("OTEL_EXPORTER_OTLP_ENDPOINT")
TRACES_SERVICE = env.text("OTEL_SERVICE_NAME", "trainboard")
# The URL of the site for links in messages. If it is empty, messages have no links.
SITE_URL = mail.site_url("TRAINBOARD_URL", env.text("TRAINBOARD_URL"))
# Whether messages may go to this machine, also over plain HTTP. For testing a receiver, never on a server.
MESSAGES_ALLOW_LOOPBACK = env.flag("TRAINBOARD_MESSAGES_LOOPBACK", default=False)
# True only under `manage.py up` with the emulator. Pages then warn that commands run on this machine.
REHEARSAL = env.flag("TRAINBOARD_REHEARSAL", default=False)

# ---------------------------------------------------------------- Django
INSTALLED_APPS = [
    "dashboard.admin_app.ConfirmedAdmin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.forms",
    "auditlog",
    "axes",
    "csp",
    "django_htmx",
    "template_partials",
    "jobs",
    "dashboard",
]
MIDDLEWARE = [
    "dashboard.access.request_id.RequestIdMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.gzip.GZipMiddleware",  # adds random bytes against BREACH; forms mask their tokens each time
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "dashboard.access.no_store.NoStoreMiddleware",
    "dashboard.api.middleware.ProblemMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "dashboard.access.known_password.KnownPasswordMiddleware",
    "dashboard.access.iap_middleware.ProxyMiddleware",
    "dashboard.access.browsers.BrowserMiddleware",
    "dashboard.access.audit_middleware.AuditMiddleware",
    "dashboard.access.locale.ReaderMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "dashboard.pages.sign_in.BusyMiddleware",
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "dashboard.urls"
WSGI_APPLICATION = "dashboard.wsgi.application"
SILENCED_SYSTEM_CHECKS = ["models.W040"]  # SQLite ignores `include` of an index: it reads the rows instead
FORM_RENDERER = "dashboard.forms.renderer.FormRenderer"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [TEMPLATES_DIR],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "dashboard.queries.page_frame.frame",
            ],
            "builtins": [
                "django.templatetags.i18n",
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

# The first one refuses clients with too many failures, the second one the demo's password if others can reach the site.
# Only then is a password checked, which is slow.
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "dashboard.access.known_password.KnownPasswordBackend",
    "dashboard.access.sign_in.SignInBackend",
]
AXES_HANDLER = "dashboard.access.sign_in_limits.SignInLimits"
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"], "ip_address"]  # in the order in which the handler reads them
AXES_FAILURE_LIMIT = 5  # per account and address
MAX_FAILURES_PER_ADDRESS = 50  # per address for all accounts; many people may share an address
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False  # a lock ends when the page states; a flood writes nothing
AXES_RESET_ON_SUCCESS = True
AXES_CLIENT_IP_CALLABLE = "dashboard.access.addresses.client_address"
AXES_LOCKOUT_CALLABLE = "dashboard.pages.parts.too_many.locked_out"
AXES_DISABLE_ACCESS_LOG = True  # the audit log has it
AXES_USERNAME_CALLABLE = "dashboard.access.sign_in_limits.counted_name"
AXES_VERBOSE = False
AXES_SENSITIVE_PARAMETERS = ["username", "code", "state"]  # the last two are in a provider's response
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
] + [{"NAME": "dashboard.access.known_password.NotTheKnownPassword"}, {"NAME": "jobs.people.credentials.EndsTokens"}]
AUDITLOG_USE_FK_STRING_REPRESENTATION = True  # entries contain names of people and teams instead of keys
# Sign-in by Google Identity-Aware Proxy. Setting the audience of its tokens enables it and disables all other ways.
IAP_AUDIENCE = env.text("TRAINBOARD_IAP_AUDIENCE")
IAP_KEYS_URL = env.text("TRAINBOARD_IAP_KEYS_URL", "https://www.gstatic.com/iap/verify/public_key")
GROUPS_CLAIM = env.text("TRAINBOARD_GROUPS_CLAIM", "groups")
# Sign-in by OpenID Connect, in addition to passwords or instead of them.
SIGN_IN_PROVIDERS = sign_in_providers.read_providers(env.words("TRAINBOARD_OIDC"), env.text)
PASSWORD_SIGN_IN = env.flag("TRAINBOARD_PASSWORD_SIGN_IN", default=True)
sign_in_providers.check_ways(SIGN_IN_PROVIDERS, has_passwords=PASSWORD_SIGN_IN, has_proxy=bool(IAP_AUDIENCE))
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "board"
LOGOUT_REDIRECT_URL = "login"

LOCAL_CACHE = "django.core.cache.backends.locmem.LocMemCache"
CACHES = {
    "default": {"BACKEND": LOCAL_CACHE},
    "rows": {"BACKEND": LOCAL_CACHE, "LOCATION": "rows", "OPTIONS": {"MAX_ENTRIES": 5_000}},  # about 15 MB
}

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("es", "Español"), ("pt-br", "Português (Brasil)"), ("id", "Bahasa Indonesia")]
LOCALE_PATHS = [BASE_DIR / "dashboard" / "locale"]
FORMAT_MODULE_PATH = ["dashboard.formats"]
TIME_ZONE = env.text("TRAINBOARD_TIME_ZONE", "UTC")
USE_I18N = True
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = STATE_DIR / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

# ---------------------------------------------------------------- e-mail
SMTP_URL = env.text("TRAINBOARD_SMTP_URL")
globals().update(mail.email_settings("TRAINBOARD_SMTP_URL", SMTP_URL))
SENDS_EMAIL = bool(SMTP_URL)
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env.text("TRAINBOARD_EMAIL_FROM", "Trainboard <trainboard@localhost>")

# ---------------------------------------------------------------- security
SECURE = env.flag("TRAINBOARD_HTTPS", default=False)
# A session ends a fixed time after the sign-in, and earlier if no page of it is open for a while.
SESSION_COOKIE_AGE = int(
    timedelta(hours=env.number("TRAINBOARD_SESSION_HOURS", default=336, least=0.1)).total_seconds()
)
SESSION_IDLE = timedelta(hours=env.number("TRAINBOARD_SESSION_IDLE_HOURS", default=72, least=0.5))
# After this time a person confirms with the password what a stolen session must not do (dashboard.access.confirmation).
CONFIRM_AGE = timedelta(minutes=env.number("TRAINBOARD_CONFIRM_MINUTES", default=720, least=1))
# The sealed audit log is sent there as well (jobs.upkeep.seals).
AUDIT_EXPORT_URL = env.text("TRAINBOARD_AUDIT_URL")
AUDIT_EXPORT_SECRET = env.text("TRAINBOARD_AUDIT_SECRET")
if AUDIT_EXPORT_URL and not AUDIT_EXPORT_SECRET.startswith("whsec_"):
    raise ImproperlyConfigured("TRAINBOARD_AUDIT_URL needs a TRAINBOARD_AUDIT_SECRET, which begins with whsec_.")
CONFIRM_ABOVE_USD = Decimal(str(env.number("TRAINBOARD_CONFIRM_ABOVE_USD", default=1000)))
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE
# Browsers take a cookie named __Host-... only over HTTPS from this very host, so no subdomain can set one.
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = (f"{'__Host-' if SECURE else ''}{name}" for name in ("sessionid", "csrftoken"))
SECURE_HSTS_SECONDS = 31_536_000 if SECURE else 0
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if SECURE else None
SECURE_REFERRER_POLICY = "same-origin"
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
# The URL of a Unix socket is unix://PATH for redis-py and redis+socket://PATH for Celery. Either may be set.
REDIS_URL = (env.text("REDIS_URL") or "redis://127.0.0.1:6379/0").replace("redis+socket://", "unix://", 1)
CELERY_BROKER_URL = REDIS_URL.replace("unix://", "redis+socket://", 1)
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_PUBLISH_RETRY = False
# Separate queues, from which a worker takes in turn, so that hundreds of jobs waiting to be sent do not delay the
# observation of running ones.
CELERY_TASK_QUEUES = [Queue(name, Exchange(name), routing_key=name) for name in ("celery", "sending", "messages")]
# Messages have a worker of their own, so that a slow receiver does not delay any job.
CELERY_TASK_ROUTES = {"jobs.tasks.advance": {"queue": "sending"}, "jobs.tasks.deliver_messages": {"queue": "messages"}}
CELERY_WORKER_PREFETCH_MULTIPLIER = 1  # prefetched tasks would run before every later sweep
# The maximum run time of a task. After it, the worker's process ends and is started again (dashboard.watchdog).
# Celery's own limits have no effect on threads.
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
    # The database decides whether it is time for each of these, so that restarts of beat and tasks that pile up do not
    # matter. None has Celery's `expires`, which compares the clocks of beat and of a worker.
    "sweep": {"task": "jobs.tasks.sweep", "schedule": SWEEP_INTERVAL},
    "prune": {"task": "jobs.tasks.prune", "schedule": timedelta(minutes=10)},
    "doctor": {"task": "jobs.tasks.examine", "schedule": timedelta(minutes=10)},
    "quotas": {"task": "jobs.tasks.read_quotas", "schedule": timedelta(minutes=2)},
    "advice": {"task": "jobs.tasks.read_advice", "schedule": timedelta(seconds=30)},
    "images": {"task": "jobs.tasks.read_images", "schedule": timedelta(seconds=15)},
    "prices": {"task": "jobs.tasks.import_prices", "schedule": timedelta(minutes=10)},
}
CELERY_BEAT_SCHEDULE_FILENAME = str(STATE_DIR / "beat-schedule")

LOGGING = logs.settings_for(env.text("TRAINBOARD_LOG_FORMAT", "line"), env.text("TRAINBOARD_LOG_LEVEL", "INFO"))
