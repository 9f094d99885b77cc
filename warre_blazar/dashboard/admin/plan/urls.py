"""The addresses of the panel "Plan and Hosts"."""

from django.urls import path

from warre_blazar.dashboard.admin.plan import views

urlpatterns = [path("", views.PlanPage.as_view(), name="index")]
