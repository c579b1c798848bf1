"""The folded fields of a job: identity, network, experiments, access, retries, labels."""

from functools import partial

from django import forms

from dashboard.forms.fields.objects import ObjectsField
from dashboard.forms.fields.words import LinesField, PairsField, line_field
from dashboard.forms.found import FoundForm

_text = partial(line_field, longest=1000)


class AdvancedForm(FoundForm):
    """What most jobs leave as it is."""

    service_account = _text("Service account", "Empty: Vertex AI's own agent.")
    labels = PairsField(label="Labels", required=False, help_text="One key=value on each line.")
    network = _text("Network", "projects/NUMBER/global/networks/NAME, peered with Vertex AI.")
    reserved_ip_ranges = LinesField(
        label="Reserved IP ranges", required=False, help_text="Names of ranges in that network, one on each line."
    )
    network_attachment = _text("Private Service Connect", "The network attachment that it goes through.")
    dns_peerings = ObjectsField(
        "{domain} {targetProject} {targetNetwork}",
        label="DNS zones of that network",
        required=False,
        help_text="DOMAIN. PROJECT NETWORK on each line; the job may then resolve names in that zone.",
    )
    encryption_key = _text("Encryption key", "projects/P/locations/REGION/keyRings/K/cryptoKeys/NAME.")
    tensorboard = _text("TensorBoard", "projects/P/locations/REGION/tensorboards/ID; it needs a service account.")
    experiment = _text("Experiment", "projects/P/locations/REGION/metadataStores/S/contexts/NAME.")
    experiment_run = _text("Experiment run", "The same, with the run's context.")
    web_access = forms.BooleanField(label="Interactive shell", required=False)
    dashboard_access = forms.BooleanField(label="Dashboard of the container", required=False)
    restart_on_worker_restart = forms.BooleanField(
        label="Restart the whole job when one worker restarts", required=False
    )
    disable_retries = forms.BooleanField(label="Do not retry after internal errors", required=False)

    @property
    def is_used(self) -> bool:
        """Whether a field holds something or was refused."""
        return any(field.value() or field.is_refused for field in self.found())
