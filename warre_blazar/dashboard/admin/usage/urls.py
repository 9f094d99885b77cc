"""The addresses of the panel "Usage"."""

from django.urls import path

from warre_blazar.dashboard.admin.usage import views

urlpatterns = [path("", views.AllUsagePage.as_view(), name="index")]
