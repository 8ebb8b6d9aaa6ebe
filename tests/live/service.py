"""What a service itself says about its sandboxes, asked directly and not through Berth: an independent witness.

A Witness lists what there is, looks one up, and, as a last resort, deletes one by its name.
"""

import base64
import http.client
import json
import os
import ssl
import time
from urllib.parse import quote, urlencode, urlsplit

REQUEST_SECONDS = 60
PAGES_MAX = 200  # of a list


class ServiceError(Exception):
    """The service did not say what was asked; the text has no secret."""


class Witness:
    """One service. Its credentials come from the environment, its address from there too or from an option."""

    name = ""
    options = ()  # any one of these sets of variables is enough
    address_variable = ""
    address_default = ""

    def __init__(self, environment, address="", authority=""):
        self.environment = environment
        self.address = (address or self.value(self.address_variable) or self.address_default).rstrip("/")
        self.authority = authority
        self.context = ssl.create_default_context()
        if authority:
            self.context.load_verify_locations(authority)

    def value(self, variable):
        return self.environment.get(variable, "").strip()

    @classmethod
    def has_credentials(cls, environment):
        return any(all(environment.get(name, "").strip() for name in names) for names in cls.options)

    @classmethod
    def wanted(cls):
        return ", or ".join(" + ".join(names) for names in cls.options)

    def secrets(self):
        raise NotImplementedError

    def ask(self, method, path, query=None):
        """Status and JSON body (None where there is none) of one request."""
        parts = urlsplit(self.address)
        target = parts.path + path + ("?" + urlencode(query) if query else "")
        connection = http.client.HTTPSConnection(parts.hostname, parts.port or 443, context=self.context,
                                                 timeout=REQUEST_SECONDS)
        try:
            connection.request(method, target, headers={"Authorization": "Bearer " + self.secrets()[0],
                                                        "Accept": "application/json", "User-Agent": "berth-live"})
            answer = connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise ServiceError(f"{method} {self.address}{path}: {error}") from None
        finally:
            connection.close()
        try:
            return answer.status, json.loads(body) if body else None
        except ValueError:
            return answer.status, None

    def must(self, method, path, query=None):
        status, body = self.ask(method, path, query)
        if status != 200 or not isinstance(body, dict):
            raise ServiceError(f"{method} {self.address}{path} answered {status}")
        return body

    def listed(self):
        """Names of all sandboxes that the service lists."""
        raise NotImplementedError

    def is_there(self, name, ref=""):
        """Whether the service knows it by its name or by its reference. What it cannot say raises ServiceError."""
        raise NotImplementedError

    def delete(self, name):
        raise NotImplementedError

    def is_gone(self, name, ref="", seconds=60):
        """Waits until it is known neither by name nor by reference, nor listed: deletion and lists take their time."""
        end = time.monotonic() + seconds
        while self.is_there(name, ref) or name in self.listed():
            if time.monotonic() >= end:
                return False
            time.sleep(1)
        return True


class Daytona(Witness):
    name = "daytona"
    asked = "by its name, by its id and from the list"
    options = (("DAYTONA_API_KEY", "DAYTONA_ORGANIZATION_ID"),)
    address_variable = "DAYTONA_API_URL"
    address_default = "https://app.daytona.io/api"

    def secrets(self):
        return [self.value("DAYTONA_API_KEY")]

    def listed(self):
        names, cursor = set(), None
        for _ in range(PAGES_MAX):
            query = {"limit": 100, **({"cursor": cursor} if cursor else {})}
            page = self.must("GET", "/sandbox", query)
            names |= {item["name"] for item in page["items"] if item.get("state") != "destroyed"}
            cursor = page.get("nextCursor")
            if not cursor:
                return names
        raise ServiceError("the list does not end")

    def is_there(self, name, ref=""):
        # By its name a sandbox is absent as soon as its deletion was asked for; by its id only when it is gone.
        return any(self._known(which) for which in {name, ref} - {""})

    def _known(self, which):
        status, body = self.ask("GET", "/sandbox/" + quote(which, safe=""))
        if status == 404 and isinstance(body, dict):
            return False
        if status != 200 or not isinstance(body, dict):
            raise ServiceError(f"the look at {which} answered {status}")
        return body.get("state") != "destroyed"

    def delete(self, name):
        status, _ = self.ask("DELETE", "/sandbox/" + quote(name, safe=""))
        if status not in (200, 404, 409):
            raise ServiceError(f"deleting {name} answered {status}")


class Vercel(Witness):
    name = "vercel"
    asked = "by its name, which is what it is known by, and from the list"
    options = (("VERCEL_OIDC_TOKEN",), ("VERCEL_TEAM_ID", "VERCEL_PROJECT_ID", "VERCEL_TOKEN"))
    address_variable = "VERCEL_SANDBOX_API_URL"
    address_default = "https://vercel.com/api"

    def __init__(self, environment, address="", authority=""):
        super().__init__(environment, address, authority)
        self.team, self.project = self.value("VERCEL_TEAM_ID"), self.value("VERCEL_PROJECT_ID")
        if not (self.team and self.project and self.value("VERCEL_TOKEN")):
            self.team, self.project = self._of_token(self.value("VERCEL_OIDC_TOKEN"))

    @staticmethod
    def _of_token(token):
        try:
            part = token.split(".")[1]
            claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
            return claims["owner_id"], claims["project_id"]
        except (IndexError, KeyError, TypeError, ValueError):
            raise ServiceError("VERCEL_OIDC_TOKEN does not say which team and project it is for") from None

    def secrets(self):
        explicit = all(self.value(name) for name in self.options[1])
        return [self.value("VERCEL_TOKEN" if explicit else "VERCEL_OIDC_TOKEN")]

    def listed(self):
        names, cursor = set(), None
        for _ in range(PAGES_MAX):
            query = {"teamId": self.team, "project": self.project, "limit": 50, **({"cursor": cursor} if cursor else {})}
            page = self.must("GET", "/v2/sandboxes", query)
            names |= {item["name"] for item in page["sandboxes"]}
            cursor = (page.get("pagination") or {}).get("next")
            if not cursor:
                return names
        raise ServiceError("the list does not end")

    def is_there(self, name, ref=""):
        status, body = self.ask("GET", "/v2/sandboxes/" + quote(name, safe=""),
                                {"teamId": self.team, "projectId": self.project})
        code = ((body or {}).get("error") or {}).get("code") if isinstance(body, dict) else None
        if status == 404 and code == "not_found":
            return False
        if status != 200:
            raise ServiceError(f"the look at {name} answered {status}")
        return True

    def delete(self, name):
        status, _ = self.ask("DELETE", "/v2/sandboxes/" + quote(name, safe=""),
                             {"teamId": self.team, "projectId": self.project, "deleteOrphanSnapshots": "true"})
        if status not in (200, 404):
            raise ServiceError(f"deleting {name} answered {status}")


SERVICES = {each.name: each for each in (Daytona, Vercel)}


def with_credentials(environment=os.environ):
    return [name for name, each in SERVICES.items() if each.has_credentials(environment)]
