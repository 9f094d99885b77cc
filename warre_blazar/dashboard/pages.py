"""The base classes of all pages: policy, errors of the API, forms, and paging."""

import datetime
from typing import Any

from django import http, shortcuts, urls
from django.contrib import messages
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views import generic
from horizon import exceptions
from horizon.utils import functions as horizon_functions
from horizon.utils import http as horizon_http
from keystoneauth1 import exceptions as ksa
from openstack_dashboard import policy

from warre_blazar.client import Client, errors
from warre_blazar.client import Page as ListPage
from warre_blazar.dashboard import connection, forms, once


class ServiceFailed(Exception):
    """Another service than Blazar can't be reached, or refuses. The text is for the user."""


class _AfterTheLast(Exception):
    """The user asked for a page of a listing after the last one, which is at ``address``."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.address = address


class PageView(generic.TemplateView):
    """A page, which is shown only to those whom a policy rule allows it."""

    #: The name of the policy rule.
    rule = ""
    title: Any = ""

    @property
    def api(self) -> Client:
        """The client of the API."""
        return connection.client(self.request)

    @property
    def zone(self) -> str:
        """The name of the time zone that the user has chosen in Horizon."""
        return str(horizon_functions.get_timezone(self.request))

    def may(self, rule: str) -> bool:
        """Whether the policies allow the user something. The API checks it again."""
        target = {"project_id": self.request.user.project_id}
        return bool(policy.check((("reservation", rule),), self.request, target))

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        self.request = request
        # Horizon leaves scripts' requests in the zone of another request of the same thread.
        timezone.activate(self.zone)
        if not self.may(self.rule):
            raise exceptions.NotAuthorized
        try:
            return super().dispatch(request, *args, **kwargs)
        except (errors.ClientError, ksa.ClientException, ServiceFailed) as error:
            return self._failed(error)
        except _AfterTheLast as error:
            return http.HttpResponseRedirect(error.address)

    def _failed(self, error: Exception) -> Any:
        """The page that says what the API, or the way to it, refused."""
        status = getattr(error, "status", None) or getattr(error, "http_status", None)
        if status == 401:
            raise exceptions.NotAuthenticated from error
        shown = {404: 404, 403: 403}.get(status or 0, 502)
        index = f"{self.request.resolver_match.namespace}:index"
        back = urls.reverse(index) if self.request.resolver_match.view_name != index else None
        context = {"page_title": _("This didn't work"), "error": error, "back": back}
        return shortcuts.render(
            self.request, "flavor_reservations/failed.html", context, status=shown
        )

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(page_title=self.title, zone=self.zone, **kwargs)

    def done(self, text: str, where: str, *args: Any) -> http.HttpResponse:
        """Say what was done, on another page."""
        messages.success(self.request, text)
        return shortcuts.redirect(where, *args)

    def number(self) -> int:
        """The number of the page of a listing that the user asked for."""
        wanted = self.request.GET.get("page", "")
        return (
            int(wanted) if wanted.isascii() and wanted.isdigit() and 0 < int(wanted) < 10**6 else 1
        )

    def size(self) -> int:
        """How many items a page of a listing shows, which each user can choose in Horizon."""
        return int(horizon_functions.get_page_size(self.request))

    def pager(self, listed: ListPage[Any]) -> dict[str, Any]:
        """What the template needs to show the links to the other pages of a listing."""
        if listed.number > listed.count > 0:
            raise _AfterTheLast(self._page_of_listing(listed.count))
        pages = {"first": 1, "previous": listed.number - 1}
        pages |= {"next": listed.number + 1, "last": listed.count}
        links = {
            name: self._page_of_listing(number)
            for name, number in pages.items()
            if 1 <= number <= listed.count and number != listed.number
        }
        return {"number": listed.number, "count": listed.count, "total": listed.total, **links}

    def _page_of_listing(self, number: int) -> str:
        query = self.request.GET.copy()
        query["page"] = str(number)
        return f"?{query.urlencode()}"


class ConfirmView(PageView):
    """Asks whether to do something that deletes, and does it if the person says so."""

    template_name = "flavor_reservations/confirm.html"
    #: What the button says that does it, and the one that doesn't. "": Horizon's own word.
    submit: Any = ""
    keep: Any = ""
    #: What is said when it is done, on the page with this name.
    said: Any = ""
    after = ""

    def question(self) -> tuple[str, str]:
        """What the page asks, and the address to go back to."""
        raise NotImplementedError

    def named(self) -> list[str]:
        """What the question is about, or what else it does, each in a line of its own."""
        return []

    def carry_out(self) -> None:
        """Do it."""
        raise NotImplementedError

    def arguments(self) -> tuple[str, ...]:
        """The arguments of the address of the page that comes after."""
        return ()

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        question, back = self.question()
        more = {"question": question, "back": back, "submit": self.submit, "keep": self.keep}
        more["named"] = self.named()
        return super().get_context_data(**kwargs, **more)

    def post(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        self.carry_out()
        return self.done(self.said, self.after, *self.arguments())


class ActionView(PageView):
    """Carries out what a button on another page asks for, and goes back to that page.

    If the session has ended, Horizon leads here after the login, without the button's form.
    """

    #: The name of the page with the button. Its address has the same arguments.
    page = ""

    def get(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        text = _("Nothing was done, because you had to log in first. Press the button again.")
        messages.warning(request, text)
        return shortcuts.redirect(self.page, **kwargs)

    def carried_out(self, text: str) -> http.HttpResponse:
        """Say on the page with the button what was done."""
        messages.success(self.request, text)
        return shortcuts.redirect(self.page, **self.kwargs)


class FormView(PageView):
    """A page with a form."""

    form_class: Any = None
    #: Whether to send the form a second time would do something a second time.
    only_once = True

    def form_arguments(self) -> dict[str, Any]:
        """Additional arguments of the form's class."""
        return {}

    def initial(self) -> dict[str, Any]:
        """The values of the form's fields at first. The query of the address has precedence."""
        return {}

    def linked(self) -> dict[str, Any]:
        """The values of the form's fields that the address gives."""
        given = self.request.GET
        return {name: given[name] for name in self.form_class.base_fields if name in given}

    def get(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        initial = {**self.initial(), **self.linked()}
        return self.first_shown(self.form_class(initial=initial, **self.form_arguments()))

    def first_shown(self, form: Any) -> Any:
        """The page with the form that nobody has sent yet."""
        return self.shown(form)

    def post(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        form = self.form_class(request.POST, **self.form_arguments())
        if not form.is_valid():
            return self.shown(form)
        if "check" not in request.POST and (sent := once.before(request)):
            return self.sent_before(form, sent)
        try:
            answer = self.submit(form)
        except errors.ApiError as error:
            if error.status == 401:
                raise
            if error.code == "idempotency_key_reused":
                return self.sent_before(form, once.UNKNOWN)
            return self.refused(form, error)
        if answer.status_code == 302:
            once.remember(request, answer)
        return answer

    def sent_before(self, form: Any, sent: once.Sent) -> Any:
        """The response if the browser has brought back a form that was sent before."""
        if not sent.is_same:
            return self.shown(form, sent_before=sent)
        text = _(
            "You have already sent this form, and this is what came of it. To do the same once "
            "more, open the form anew."
        )
        # Horizon's scripts hide other messages after some seconds.
        messages.warning(self.request, text)
        return shortcuts.redirect(sent.where)

    def submit(self, form: Any) -> Any:
        """Do what the valid form says, and return the response."""
        raise NotImplementedError

    def refused(self, form: Any, error: errors.ApiError) -> Any:
        """The response if the API refuses it."""
        forms.add_refusal(form, error)
        return self.shown(form)

    def shown(self, form: Any, **context: Any) -> Any:
        """The page with the form."""
        if self.only_once:
            context["one_time_key"] = once.new_key()
        return self.render_to_response(self.get_context_data(form=form, **self.kwargs, **context))


class CheckedFormView(FormView):
    """A page with a form that can be checked before it is carried out.

    It is also checked while one types, if JavaScript runs.
    """

    #: Shows what the API would answer. Without a verdict, nothing was asked yet.
    verdict_template = "flavor_reservations/_verdict.html"

    def first_shown(self, form: Any) -> Any:
        """The page, with what the API would answer to the form's first values.

        If the address gives invalid values, the page says so. Fields that it doesn't give may be
        empty still.
        """
        values = {name: form[name].value() for name in form.fields}
        data = {name: _text(value) for name, value in values.items()}
        filled = self.form_class(data, initial=form.initial, **self.form_arguments())
        if filled.is_valid():
            return self.shown(form, verdict=self.verdict(filled))
        for name in filled.errors.keys() - self.linked().keys():
            del filled.errors[name]
        return self.shown(filled if filled.errors else form)

    def shown(self, form: Any, **context: Any) -> Any:
        if form.is_bound and not context.get("verdict"):
            context["verdict"] = {"invalid": True} if form.errors else self.verdict(form)
        return super().shown(form, **context)

    def post(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        if horizon_http.is_ajax(request):
            form = self.form_class(request.POST, **self.form_arguments())
            verdict = self.verdict(form) if form.is_valid() else {"invalid": True}
            context = {"verdict": verdict, "form": form}
            return shortcuts.render(request, self.verdict_template, context)
        return super().post(request, *args, **kwargs)

    def submit(self, form: Any) -> Any:
        if "check" in self.request.POST:
            return self.shown(form)
        return self.carry_out(form)

    def carry_out(self, form: Any) -> Any:
        """Do what the valid form says, and return the response."""
        raise NotImplementedError

    def verdict(self, form: Any) -> dict[str, Any]:
        """What the API would answer to the valid form, for the template."""
        raise NotImplementedError


def _text(value: Any) -> Any:
    """The value of a field as a browser sends it. Times are in the user's zone already."""
    return f"{value:%Y-%m-%dT%H:%M}" if isinstance(value, datetime.datetime) else value


def now() -> datetime.datetime:
    """The present minute."""
    return datetime.datetime.now(datetime.UTC).replace(second=0, microsecond=0)
