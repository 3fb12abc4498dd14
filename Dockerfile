# The image of a release: this program alone, for `docker run -i` as an MCP server.
# goreleaser has a folder with the program for each platform.
FROM scratch
ARG TARGETPLATFORM
COPY $TARGETPLATFORM/rmq-mcp /usr/bin/rmq-mcp
# The server's state; without a volume it goes with the container.
ENV HOME=/root PATH=/usr/bin
VOLUME /root/.local/state/rmq-mcp
WORKDIR /tmp
ENTRYPOINT ["/usr/bin/rmq-mcp"]
CMD ["serve"]
