"""Django's admin as an app. This module is imported before models can be."""

from django.contrib.admin.apps import AdminConfig


class ConfirmedAdmin(AdminConfig):
    """The admin with a site that asks for the password again."""

    default_site = "dashboard.access.admin_site.ConfirmedSite"
