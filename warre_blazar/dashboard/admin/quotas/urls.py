"""The addresses of the panel "Quotas"."""

from django.urls import path

from warre_blazar.dashboard.admin.quotas import views

urlpatterns = [path("", views.QuotasPage.as_view(), name="index")]
