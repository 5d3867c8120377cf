#!/usr/bin/env bash
# Builds Jaeger (and the small Collector that the tests need) from their Go modules and runs Jaeger on loopback.
#
#   scripts/jaeger.sh build            into .cache/jaeger/, if anything changed
#   scripts/jaeger.sh start [OVERLAY]  in the foreground; OVERLAY as in deploy/jaeger-OVERLAY.yaml, for instance badger
#
# The ports are variables that deploy/jaeger.yaml names: JAEGER_QUERY_PORT, JAEGER_OTLP_GRPC_PORT, ...
set -euo pipefail
cd "$(dirname "$0")/.."

out=.cache/jaeger
module=tools/jaeger

build() {
    PATH=$PATH:${GOROOT:-/usr/local/go}/bin # where Go's own archive puts it, on many machines without being on PATH
    if ! command -v go >/dev/null; then
        echo "no Go here, and Jaeger is built from its Go module; with Docker: docker compose up" >&2
        exit 3 # the tests skip on this one, and fail on any other
    fi
    mkdir -p "$out"
    exec 9>"$out/lock" # two builds at once would wait for each other's compiler anyway
    if command -v flock >/dev/null; then flock 9; fi
    local sources
    sources=$( (cd "$module" && go version && cat go.mod go.sum collector/*.go) | cksum)
    if [[ -x $out/jaeger && -x $out/collector && $(cat "$out/built-from" 2>/dev/null) == "$sources" ]]; then
        return
    fi
    echo "jaeger: building from $module (some minutes the first time)" >&2
    rm -f "$out/built-from"
    # Without debug information: half the size, and quicker to link.
    (cd "$module" && nice go build -ldflags='-s -w' -o "../../$out/" ./collector github.com/jaegertracing/jaeger/cmd/jaeger)
    echo "$sources" >"$out/built-from"
}

start() {
    local configs=(--config=deploy/jaeger.yaml)
    if [[ -n ${1-} ]]; then configs+=("--config=deploy/jaeger-$1.yaml"); fi
    build
    export JAEGER_LISTEN_HOST=127.0.0.1
    cat <<EOT
Jaeger: http://127.0.0.1:${JAEGER_QUERY_PORT:-16686}  (Ctrl-C stops it)
Send it the traces of a program:
  export THUNDER_DEBUG=trace OTEL_TRACES_EXPORTER=otlp
  export OTEL_EXPORTER_OTLP_PROTOCOL=grpc OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:${JAEGER_OTLP_GRPC_PORT:-4317}
or over HTTP:
  export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:${JAEGER_OTLP_HTTP_PORT:-4318}
EOT
    if [[ -z ${JAEGER_UI_DIR-} ]]; then
        echo "The Go module has the query API but not the page: docker compose up has both (docs/jaeger.md)."
    fi
    exec "$out/jaeger" "${configs[@]}"
}

case ${1-} in
    build) build ;;
    start) start "${2-}" ;;
    *)
        echo "usage: $0 build | start [default-limits|badger|opensearch]" >&2
        exit 2
        ;;
esac
