"""Every address of the site in one table: pages first, what lies below them after."""

from django.contrib import admin
from django.contrib.auth.views import LogoutView
from django.urls import path

from dashboard.pages import (
    adopt,
    approvals,
    board,
    catalogue,
    compare,
    compose,
    health,
    history,
    import_job,
    job,
    job_log,
    pools,
    rules,
    study,
    templates,
)
from dashboard.pages.sign_in import SignIn

urlpatterns = [
    path("", board.board, name="board"),
    path("jobs/new/", compose.compose, name="compose"),
    path("jobs/adopt/", adopt.adopt, name="adopt"),
    path("jobs/import/", import_job.import_job, name="import"),
    path("jobs/<uuid:pk>/", job.job, name="job"),
    path("studies/<uuid:pk>/", study.study, name="study"),
    path("approvals/", approvals.approvals, name="approvals"),
    path("history/", history.history, name="history"),
    path("pools/", pools.pools, name="pools"),
    path("compare/", compare.compare, name="compare"),
    path("templates/", templates.templates, name="templates"),
    path("catalogue/", catalogue.catalogue, name="catalogue"),
    path("rules/", rules.rules, name="rules"),
    path("admin/", admin.site.urls),
    path("accounts/login/", SignIn.as_view(), name="login"),
    path("accounts/logout/", LogoutView.as_view(), name="logout"),
    path("healthz", health.alive, name="healthz"),
    path("readyz", health.ready, name="readyz"),
    path("rules/<slug:code>/", rules.set_rule, name="rule-set"),
    path("jobs/adopt/look/", adopt.look, name="adopt-look"),
    path("jobs/adopt/take/", adopt.take, name="adopt-take"),
    path("jobs/new/check/", compose.check, name="compose-check"),
    path("templates/<int:pk>/", templates.template, name="template"),
    path("templates/<int:pk>/delete/", templates.delete, name="template-delete"),
    path("studies/<uuid:pk>/trials.csv", study.trials_csv, name="trials-csv"),
    # ------------------------------------------------ below a job
    path("jobs/<uuid:pk>/template/", templates.save, name="template-save"),
    path("jobs/<uuid:pk>/live/", job.live, name="job-live"),
    path("jobs/<uuid:pk>/log/", job_log.log, name="job-log"),
    path("jobs/<uuid:pk>/log/new/", job_log.new_lines, name="job-log-new"),
    path("jobs/<uuid:pk>/log.txt", job_log.text, name="job-log-text"),
    path("jobs/<uuid:pk>/cancel/", job.cancel, name="cancel"),
    path("jobs/<uuid:pk>/delete/", job.delete, name="job-delete"),
    path("jobs/<uuid:pk>/decide/", approvals.decide, name="decide"),
    path("jobs/<uuid:pk>/events.json", job.events_json, name="job-events"),
    path("jobs/<uuid:pk>/spec.json", job.spec_json, name="job-spec"),
]
