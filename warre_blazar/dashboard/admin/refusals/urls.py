"""The addresses of the panel "Refused Requests"."""

from django.urls import path

from warre_blazar.dashboard.admin.refusals import views

urlpatterns = [path("", views.RefusedRequestsPage.as_view(), name="index")]
