"""The addresses of the panel "Waiting for Room"."""

from django.urls import path

from warre_blazar.dashboard.project.waits import views, waiting

urlpatterns = [
    path("", views.WaitsPage.as_view(), name="index"),
    path("create/", waiting.CreateWaitPage.as_view(), name="create"),
    path("<str:ref>/", views.WaitPage.as_view(), name="detail"),
    path("<str:ref>/cancel/", waiting.CancelWaitPage.as_view(), name="cancel"),
]
