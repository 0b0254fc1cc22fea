"""Secrets by bc-detect-secrets (Apache-2.0): its detectors, and none of its calls to verify what they find."""

import re
from collections.abc import Iterator

from detect_secrets.plugins.artifactory import ArtifactoryDetector
from detect_secrets.plugins.aws import AWSKeyDetector
from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
from detect_secrets.plugins.basic_auth import BasicAuthDetector
from detect_secrets.plugins.cloudant import CloudantDetector
from detect_secrets.plugins.discord import DiscordBotTokenDetector
from detect_secrets.plugins.github_token import GitHubTokenDetector
from detect_secrets.plugins.ibm_cloud_iam import IbmCloudIamDetector
from detect_secrets.plugins.ibm_cos_hmac import IbmCosHmacDetector
from detect_secrets.plugins.mailchimp import MailchimpDetector
from detect_secrets.plugins.npm import NpmDetector
from detect_secrets.plugins.sendgrid import SendGridDetector
from detect_secrets.plugins.slack import SlackDetector
from detect_secrets.plugins.softlayer import SoftlayerDetector
from detect_secrets.plugins.square_oauth import SquareOAuthDetector
from detect_secrets.plugins.stripe import StripeDetector
from detect_secrets.plugins.twilio import TwilioKeyDetector

from recallmesh.retain.defense.finding import Finding, pieces
from recallmesh.retain.defense.secret import secret

_LIKELY = re.compile(r"[\w+/=.-]{16}|://")
"""What every secret of these holds; most texts do not, and are done with."""
_AROUND = " \t\r\n\"'=:"
"""Signs around a secret that some expressions take along."""
_SHORTEST = 6
"""Characters of a secret; what is shorter is a slip, such as the password "db" in the URL of a manual."""

# Not here: what finds high entropy (every hash and identifier), keywords (needs code's quotes; ``secret.scan_named``
# reads sentences), tokens and private keys in armour (``secret`` finds them whole, in linear time).
_DETECTORS = (
    (ArtifactoryDetector(), secret("Artifactory token")),
    (AWSKeyDetector(), secret("AWS key")),
    (AzureStorageKeyDetector(), secret("Azure key")),
    (BasicAuthDetector(), secret("password")),
    (CloudantDetector(), secret("Cloudant key")),
    (DiscordBotTokenDetector(), secret("Discord token")),
    (GitHubTokenDetector(), secret("GitHub token")),
    (IbmCloudIamDetector(), secret("IBM Cloud key")),
    (IbmCosHmacDetector(), secret("IBM Cloud key")),
    (MailchimpDetector(), secret("Mailchimp key")),
    (NpmDetector(), secret("npm token")),
    (SendGridDetector(), secret("SendGrid key")),
    (SlackDetector(), secret("Slack token")),
    (SoftlayerDetector(), secret("SoftLayer key")),
    (SquareOAuthDetector(), secret("Square key")),
    (StripeDetector(), secret("Stripe key")),
    (TwilioKeyDetector(), secret("Twilio key")),
)


def scan(text: str) -> Iterator[Finding]:
    """Find secrets of known services."""
    if not _LIKELY.search(text):
        return
    for offset, piece in pieces(text):
        for detector, kind in _DETECTORS:
            for expression in detector.denylist:
                for found in expression.finditer(piece):
                    start, end = _span(found)
                    if end - start >= _SHORTEST:
                        yield Finding(offset + start, offset + end, kind)


def _span(found: re.Match[str]) -> tuple[int, int]:
    """Return where the secret is: what was caught, or all where that is but its beginning ("ghp" of GitHub's)."""
    group = found.lastindex or 0
    if group and not found[0].startswith(f"{found[group]}_"):
        return found.span(group)
    start, end = found.span()
    whole = found[0]
    return start + len(whole) - len(whole.lstrip(_AROUND)), end - len(whole) + len(whole.rstrip(_AROUND))
