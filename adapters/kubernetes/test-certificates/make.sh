#!/bin/sh
# Makes the certificates of exchange.test.ts anew: an authority, a server (localhost, 127.0.0.1, api.example.com), a client. They guard nothing.
set -eu
cd "$(dirname "$0")"
key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1"; }
sign() { openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 36500 -extfile "$1.ext" -out "$1.crt"; }
key ca.key
openssl req -x509 -new -key ca.key -days 36500 -subj '/CN=kinfold test authority' -out ca.crt
for name in server client; do
  key "$name.key"
  openssl req -new -key "$name.key" -subj "/CN=kinfold test $name" -out "$name.csr"
done
echo 'subjectAltName=DNS:localhost,DNS:api.example.com,IP:127.0.0.1' > server.ext
echo 'extendedKeyUsage=clientAuth' > client.ext
sign server
sign client
rm -f ./*.csr ./*.ext ./*.srl ca.key
