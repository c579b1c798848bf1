"""A small Cloud Billing Catalog: SKUs in the API's format, including everything that could mislead a parser.

Prices are those of us-central1 in published bills and captures. `jobs/cost/sku_patterns.py` parses the descriptions.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.servers import in_thread

COMPUTE, VERTEX = "6F81-5844-456A", "C7E2-9256-1C43"
Sku = dict[str, Any]
_numbers = count(1)


def money(usd: str) -> dict[str, Any]:
    """Return google.type.Money, which omits zero fields."""
    amount = Decimal(usd)
    units, nanos = int(amount), int((amount % 1) * 10**9)
    return {"currencyCode": "USD"} | ({"units": str(units)} if units else {}) | ({"nanos": nanos} if nanos else {})


def sku(description: str, *usd: str, unit: str = "h", regions: tuple[str, ...] = ("us-central1",), **more: Any) -> Sku:
    """Return a SKU with one tier for each price in `usd`."""
    number = f"{next(_numbers):04X}-0000-0000"
    tiers = [{"startUsageAmount": float(at), "unitPrice": money(each)} for at, each in enumerate(usd)]
    expression = {"usageUnit": unit, "displayQuantity": 1.0, "baseUnit": "s", "tieredRates": tiers}
    category = {"resourceFamily": "Compute", "resourceGroup": "CPU", "usageType": "OnDemand"}
    pricing = [
        {"effectiveTime": "2026-11-22T10:00:00Z", "currencyConversionRate": 1.0, "pricingExpression": expression}
    ]
    return {
        "name": f"services/{COMPUTE}/skus/{number}",
        "skuId": number,
        "description": description,
        "category": category,
        "serviceRegions": list(regions),
        "pricingInfo": pricing,
        "serviceProviderName": "Google",
    } | more


def catalog() -> dict[str, list[Sku]]:
    """Return {service id: SKUs}."""
    ram, month = "GiBy.h", "GiBy.mo"
    compute = [
        sku("N1 Predefined Instance Core running in Americas", "0.031611", regions=("us-central1", "us-east1")),
        sku("N1 Predefined Instance Ram running in Americas", "0.004237", unit=ram, regions=("us-central1",)),
        sku("Spot Preemptible N1 Predefined Instance Core running in Americas", "0.0067"),
        sku("Spot Preemptible N1 Predefined Instance Ram running in Americas", "0.0009", unit=ram),
        sku("A3 Instance Core running in Americas", "0.025498"),
        sku("A3 Instance Ram running in Americas", "0.0022203", unit=ram),
        sku("Nvidia H100 80GB GPU running in Americas", "9.796550569"),
        sku("Nvidia H100 80GB Plus GPU running in Americas", "10.344275712"),
        sku("Nvidia H100 80GB Mega GPU attached to Spot Preemptible VMs running in Americas", "3.1"),
        sku("Nvidia H100 Mega 80GB GPU attached to DWS Defined Duration VMs running in Americas", "4.5"),
        sku("Nvidia H100 80GB GPU attached to DWS Defined Duration VMs running in Americas", "4.20076"),
        sku("DWS Defined Duration A3 Core running in Americas", "0.0119"),
        sku("DWS Defined Duration A3 Ram running in Americas", "0.00104", unit=ram),
        sku("Nvidia Tesla A100 GPU running in Americas", "2.933908"),
        sku("Nvidia Tesla A100 80GB GPU running in Americas", "3.92808"),
        sku("Nvidia L4 GPU attached to Spot Preemptible VMs running in Americas", "0.2"),
        sku("H200 141GB GPU running in Americas", "9.0"),
        sku("H200 141GB GPU attached to DWS Defined Duration VMs running in Americas", "5.0"),
        sku("RTX 6000 96GB running in Americas", "2.0"),
        sku("A4 Nvidia B200 (1 gpu slice) running in Americas", "16.11"),
        sku("Spot Preemptible A4 Nvidia B200 (1 gpu slice) running in Americas", "7.5"),
        sku("TpuV6e running in Columbus", "2.7", regions=("us-east5",)),
        sku("TpuV6e attached to Spot Preemptible VMs running in Columbus", "1.4", regions=("us-east5",)),
        sku("DWS Defined Duration V6e running in Columbus", "1.35", regions=("us-east5",)),
        sku("SSD backed Local Storage", "0.08", unit=month),
        sku("DWS Defined Duration SSD backed Local Storage in Iowa", "0.08", unit=month),
        sku("SSD backed PD Capacity", "0.17", unit=month),
        sku("Storage PD Capacity in Iowa", "0", "0.04", unit=month),
        sku("Regional Storage PD Capacity in Iowa", "0.08", unit=month),
        sku("Regional SSD backed PD Capacity", "0.34", unit=month),
        # The free tier comes first.
        sku("E2 Instance Core running in Americas", "0", "0.02181159"),
        sku("E2 Instance Ram running in Americas", "0.00292353", unit=ram),
    ]
    vertex = [
        sku("Vertex AI: Training/Pipelines on NVIDIA H100 80GB in Iowa", "11.2660332"),
        sku("Vertex AI: Training/Pipelines on A3 Instance Core in Iowa", "0.0293227"),
        sku("Vertex AI: Training/Pipelines on A3 Instance RAM in Iowa", "0.0025534", unit=ram),
        sku("Vertex AI: Training/Pipelines on SSD backed PD Capacity in Iowa", "0.1955", unit=month),
        sku("Vertex AI: Training/Pipelines management fee on NVIDIA H100 80GB in Iowa", "1.4694826"),
        sku("Vertex AI: Training/Pipelines Management fee on A3 Instance Core in Iowa", "0.0038247"),
        sku("Vertex AI: Training/Pipelines Management fee on A3 Instance RAM in Iowa", "0.0003331", unit=ram),
        sku("Vertex AI: Online/Batch Prediction N1 Predefined Instance Core running in Iowa", "0.05"),
    ]
    return {COMPUTE: compute + traps(), VERTEX: vertex}


def traps() -> list[Sku]:
    """Return SKUs that look like the price of a part of a training machine but are not."""
    broken = sku("Nvidia Tesla T4 GPU running in Americas", "0.35")
    return [
        sku("Reserved A3 Instance Core running in Americas", "0"),
        sku("Commitment v1: N1 Predefined Instance Core running in Americas for 1 Year", "0.0199"),
        sku("DWS Calendar Mode A4 Nvidia B200 (1 gpu slice) running in Americas", "10.1"),
        sku("Capacity Optimized A3 Instance Core running in Americas", "0.01"),
        sku("N1 Predefined Instance Core Sole Tenancy running in Americas", "0.035"),
        sku("Custom Instance Core running in Americas", "0.033"),
        sku("E2 Custom Instance Core running in Americas", "0.0229"),
        sku("Sole Tenancy Premium for A3 Instance Core running in Americas", "0.003"),
        sku("N1 Predefined Instance Core suspended running in Americas", "0.003"),
        sku("Nvidia L4 vGPU running in Americas", "0.1"),
        sku("Nvidia L4 GPU running in Americas", "0"),
        sku("N2 Instance Core running in Americas", "0.03", "0.02"),
        sku("G2 Instance Ram running in Americas", "0.003"),  # per hour, not per GiB and hour
        sku("G2 Instance Core running in Mars", "0.03", regions=("mars-north1",)),
        sku("Nvidia Tesla V100 GPU running in Americas", "2.48"),
        sku("Nvidia Tesla V100 GPU running in Americas", "1.24"),
        broken | {"pricingInfo": []},
    ]


class BillingServer:
    """The Catalog over HTTP on loopback, with at most half of a service per page. `asked` records every request."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.skus = catalog()
        self.asked: list[tuple[str, dict[str, list[str]]]] = []

    def answer(self, path: str) -> dict[str, Any]:
        """Return a page of a service."""
        parts = urlsplit(path)
        query = parse_qs(parts.query)
        self.asked.append((parts.path, query))
        skus = self.skus[parts.path.split("/")[3]]
        start = int(query.get("pageToken", ["0"])[0])
        end = start + len(skus) // 2
        return {"skus": skus[start:end], "nextPageToken": str(end) if end < len(skus) else ""}


@contextmanager
def serving() -> Iterator[BillingServer]:
    """Serve the Catalog while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(billing.answer(self.path)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    billing = BillingServer(f"http://127.0.0.1:{server.server_port}")
    with in_thread(server):
        yield billing
