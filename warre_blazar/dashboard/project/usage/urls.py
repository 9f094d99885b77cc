"""The addresses of the panel "Limits and Usage"."""

from django.urls import path

from warre_blazar.dashboard.project.usage import views

urlpatterns = [path("", views.LimitsAndUsagePage.as_view(), name="index")]
