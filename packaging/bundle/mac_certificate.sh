#!/bin/sh
# Puts the certificate of CERTIFICATE (.p12 in base64) into a keychain of its own, on a machine that is thrown away. Prints
# the variables that mac_app.py asks for, a line each. Without a certificate it prints nothing.
set -eu
if [ -z "${CERTIFICATE:-}" ]; then
  echo "There is no certificate, so the app will be signed by nobody." >&2
  exit 0
fi
folder=$(mktemp -d)
keychain="$folder/bough.keychain-db"
password=$(uuidgen)
printf %s "$CERTIFICATE" | base64 --decode > "$folder/certificate.p12"
{
  security create-keychain -p "$password" "$keychain"
  # It stays open for the hour that a build may take.
  security set-keychain-settings -t 3600 "$keychain"
  security unlock-keychain -p "$password" "$keychain"
  security import "$folder/certificate.p12" -k "$keychain" -P "${CERTIFICATE_PASSWORD:-}" -T /usr/bin/codesign
  rm "$folder/certificate.p12"
  # codesign may use the key without a question.
  security set-key-partition-list -S apple-tool:,apple: -s -k "$password" "$keychain"
  # codesign looks into the keychains of this list.
  # shellcheck disable=SC2046 # a list of paths in quotes
  eval security list-keychains -d user -s "'$keychain'" $(security list-keychains -d user)
} >&2
name=$(security find-identity -v -p codesigning "$keychain" | sed -n 's/.*"\(Developer ID Application: .*\)".*/\1/p' | head -1)
if [ -z "$name" ]; then
  echo "The certificate is not one for Developer ID Application." >&2
  exit 1
fi
echo "BOUGH_SIGN_IDENTITY=$name"
if [ -z "${APPLE_ID:-}" ]; then
  echo "There is no APPLE_ID, so Apple will not notarize the app." >&2
  exit 0
fi
xcrun notarytool store-credentials bough --apple-id "$APPLE_ID" --team-id "$APPLE_TEAM_ID" --password "$APPLE_PASSWORD" >&2
echo "BOUGH_NOTARY_PROFILE=bough"
