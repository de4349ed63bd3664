#!/usr/bin/env bash
# Books and cancels an appointment with curl. Environment: BASE, CLIENT_ID, CLIENT_SECRET, SCHEDULE.
set -euo pipefail

pick() { node -p "JSON.parse(require('fs').readFileSync(0)).$1"; }
origin=${BASE%/fhir/*}

token=$(curl -sS --fail-with-body "$origin/oauth2/token" \
  -d grant_type=client_credentials -d client_id="$CLIENT_ID" -d client_secret="$CLIENT_SECRET" | pick access_token)
fhir() { curl -sS --fail-with-body -H "Authorization: Bearer $token" -H "Content-Type: ${TYPE:-application/fhir+json}" "$@"; }

slot=$(fhir -G "$BASE/Slot" -d schedule="Schedule/$SCHEDULE" -d status=free -d _sort=start -d _count=1)
patient=$(fhir "$BASE/Patient" -d '{
  "resourceType": "Patient", "name": [{ "family": "Muster", "given": ["Kim"] }]
}' | pick id)
appointment=$(fhir "$BASE/Appointment/\$book" -d '{
  "resourceType": "Appointment", "status": "proposed",
  "start": "'"$(pick entry[0].resource.start <<<"$slot")"'", "end": "'"$(pick entry[0].resource.end <<<"$slot")"'",
  "slot": [{ "reference": "Slot/'"$(pick entry[0].resource.id <<<"$slot")"'" }],
  "participant": [{ "actor": { "reference": "Patient/'"$patient"'" }, "status": "accepted" }]
}')
pick status <<<"$appointment"

id=$(pick id <<<"$appointment")
fhir "$BASE/Appointment/$id" | pick status
TYPE=application/json-patch+json fhir -X PATCH "$BASE/Appointment/$id" \
  -d '[{ "op": "replace", "path": "/status", "value": "cancelled" }]' | pick status
