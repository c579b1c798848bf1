"""Django's registration of the domain."""

from django.apps import AppConfig


class JobsConfig(AppConfig):
    """The app that owns every table of Trainboard."""

    name = "jobs"
    verbose_name = "Training jobs"
