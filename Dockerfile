# The image of all processes of Trainboard, which deploy/start.sh lists. It runs as a user without a name. It writes only
# below /state, so the root file system can be read-only. tests/journeys/test_image.py runs its steps.
FROM python:3.12.11-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv --without-pip /opt/venv
# `--build-arg EXTRA=otel` installs OpenTelemetry tracing (docs/operations.md).
ARG EXTRA=""
COPY requirements/run.txt requirements/otel.txt requirements/build.txt /build/
RUN python -m pip --python /opt/venv/bin/python install --no-deps --require-hashes --only-binary :all: \
    --requirement /build/run.txt ${EXTRA:+--requirement "/build/$EXTRA.txt"}
# The wheel of the site is built with hatchling and Babel, which stay in this stage.
RUN python -m pip install --no-deps --require-hashes --only-binary :all: --requirement /build/build.txt
COPY pyproject.toml README.md LICENSE /source/
COPY deploy/compile_texts.py deploy/wheel_texts.py /source/deploy/
COPY dashboard /source/dashboard
COPY emulator /source/emulator
COPY examples /source/examples
COPY jobs /source/jobs
COPY templates /source/templates
RUN python -m pip wheel --no-deps --no-build-isolation --wheel-dir /build /source
# pip compiles the modules. The image is read-only at run time, so each process would compile them again: half a second.
RUN python -m pip --python /opt/venv/bin/python install --no-deps --no-index --find-links /build trainboard-server

FROM python:3.12.11-slim-bookworm
RUN python -m pip uninstall --yes pip && mkdir /state && chown 10001:10001 /state
COPY --from=build /opt/venv /opt/venv
COPY deploy/start.sh deploy/health.py /app/deploy/
ENV PATH=/opt/venv/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    TRAINBOARD_STATE=/state \
    TRAINBOARD_LOG_FORMAT=json
WORKDIR /app
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s CMD ["python", "/app/deploy/health.py"]
ENTRYPOINT ["sh", "/app/deploy/start.sh"]
CMD ["web"]
