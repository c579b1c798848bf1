"""The folded fields of a job: identity, network, experiments, access, retries, labels."""

from functools import partial

from django.utils.translation import gettext_lazy as _

from dashboard.forms.fields.located import FlagField, LineField
from dashboard.forms.fields.objects import ObjectsField
from dashboard.forms.fields.words import LinesField, PairsField
from dashboard.forms.findings import FindingsForm

_line = partial(LineField, max_length=1000)


class AdvancedForm(FindingsForm):
    """Fields that most jobs leave at their defaults."""

    service_account = _line(_("Service account"), _("Empty: Vertex AI's own agent."), path="jobSpec.serviceAccount")
    labels = PairsField(_("Labels"), _("One key=value on each line."), path="labels")
    network = _line(
        _("Network"), _("projects/NUMBER/global/networks/NAME, peered with Vertex AI."), path="jobSpec.network"
    )
    reserved_ip_ranges = LinesField(
        _("Reserved IP ranges"),
        _("Names of ranges in that network, one on each line."),
        path="jobSpec.reservedIpRanges",
    )
    network_attachment = _line(
        _("Private Service Connect"),
        _("The network attachment that the job uses."),
        path="jobSpec.pscInterfaceConfig.networkAttachment",
        covers=("jobSpec.pscInterfaceConfig",),
    )
    dns_peerings = ObjectsField(
        "{domain} {targetProject} {targetNetwork}",
        _("DNS zones of that network"),
        _("DOMAIN. PROJECT NETWORK on each line; the job may then resolve names in that zone."),
        path="jobSpec.pscInterfaceConfig.dnsPeeringConfigs",
    )
    encryption_key = _line(
        _("Encryption key"),
        _("projects/P/locations/REGION/keyRings/K/cryptoKeys/NAME."),
        path="encryptionSpec.kmsKeyName",
    )
    tensorboard = _line(
        _("TensorBoard"),
        _("projects/P/locations/REGION/tensorboards/ID; it needs a service account."),
        path="jobSpec.tensorboard",
    )
    experiment = _line(
        _("Experiment"), _("projects/P/locations/REGION/metadataStores/S/contexts/NAME."), path="jobSpec.experiment"
    )
    experiment_run = _line(_("Experiment run"), _("The same, with the run's context."), path="jobSpec.experimentRun")
    web_access = FlagField(_("Interactive shell"), path="jobSpec.enableWebAccess")
    dashboard_access = FlagField(_("Dashboard of the container"), path="jobSpec.enableDashboardAccess")
    restart_on_worker_restart = FlagField(
        _("Restart the whole job when one worker restarts"), path="jobSpec.scheduling.restartJobOnWorkerRestart"
    )
    disable_retries = FlagField(_("Do not retry after internal errors"), path="jobSpec.scheduling.disableRetries")

    @property
    def is_used(self) -> bool:
        """Whether a field has a value or was refused."""
        return any(field.value() or field.is_refused for field in self.bound_fields())
