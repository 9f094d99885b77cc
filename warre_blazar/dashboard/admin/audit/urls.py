"""The addresses of the panel "Audit"."""

from django.urls import path

from warre_blazar.dashboard.admin.audit import views

urlpatterns = [path("", views.AuditPage.as_view(), name="index")]
