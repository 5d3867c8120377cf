"""Exporters of thunder_otel; each is registered for ``OTEL_TRACES_EXPORTER``."""
