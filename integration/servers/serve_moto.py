"""Serves moto on a free loopback port, says where, and ends with its stdin.

Not by moto_server, for two reasons. DynamoDB documents that the writes of an
item are atomic, condition and update together; moto's are not when two requests
run side by side: a save passed its condition and overwrote the claim made
meanwhile. And its HTTP server closes the connection after each answer; behind it
the SDK was seen to repeat a request that had been applied.
"""

import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    create_backend_app,
)
from werkzeug.test import EnvironBuilder, run_wsgi_app

moto = DomainDispatcherApplication(create_backend_app)
turn = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        request = EnvironBuilder(
            method=self.command,
            path=self.path,
            base_url="http://" + self.headers.get("Host", "localhost"),
            headers=self.headers.items(),
            data=body,
        )
        with turn:
            chunks, status, headers = run_wsgi_app(moto, request.get_environ(), buffered=True)
            answer = b"".join(chunks)
        self.send_response(int(status.split()[0]))
        for name, value in headers:
            if name.lower() not in ("content-length", "connection", "date", "server"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST

    def log_message(self, *args):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128


server = Server(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(f"http://127.0.0.1:{server.server_port}", flush=True)
sys.stdin.read()
