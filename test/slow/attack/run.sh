#!/usr/bin/env bash
# Runs sqlmap against every parameter and wapiti against the pages of a running service. Needs both tools.
# Usage: test/slow/attack/run.sh http://127.0.0.1:8000 ADMIN_ACCESS_TOKEN OUTPUT_FOLDER
set -euo pipefail
url=$1
token=$2
out=$3
mkdir -p "$out"
curl --fail --silent --show-error --output /dev/null -H "Authorization: Bearer $token" "$url/users/search?search_term=a" ||
  { echo "The token is not an admin's, or nothing listens on $url" >&2; exit 1; }

attack() {
  local name=$1
  shift
  sqlmap --batch --flush-session --level=2 --risk=2 --technique=BEUS --threads=4 --timeout=10 --ignore-code=400,401,404,422 \
    --disable-coloring --output-dir="$out/$name" "$@" >"$out/sqlmap-$name.log" 2>&1 || true
  if grep -q 'is vulnerable\|sqlmap identified the following injection' "$out/sqlmap-$name.log"; then
    echo "$name: FOUND, see $out/sqlmap-$name.log"
  else
    echo "$name: nothing found ($(grep -c 'does not seem to be injectable\|do not appear to be injectable' "$out/sqlmap-$name.log" || true) verdicts)"
  fi
}

json=(--headers="Content-Type: application/json")
form=(--headers="Content-Type: application/x-www-form-urlencoded")
admin=(--headers="Authorization: Bearer $token")
both=(--headers="Content-Type: application/json\nAuthorization: Bearer $token")
attack search -u "$url/users/search?search_term=mia&field=all&exact_match=false&page=1&size=5" -p search_term,field,exact_match,page,size "${admin[@]}"
attack list -u "$url/users/?user_id=1" -p user_id "${admin[@]}"
attack verify -u "$url/verify/?code=a.b.c" -p code
attack reset-page -u "$url/reset-password/?code=a.b.c" -p code
attack register -u "$url/register/" --data='{"email":"mia@example.com*","password":"long enough*","first_name":"Mia*","last_name":"Muster*"}' "${json[@]}"
attack login -u "$url/login/" --data='{"email":"mia@example.com*","password":"x*"}' "${json[@]}"
attack resend -u "$url/verify/resend/" --data='{"email":"mia@example.com*"}' "${json[@]}"
attack forgot -u "$url/forgot-password/" --data='{"email":"mia@example.com*"}' "${json[@]}"
attack reset -u "$url/reset-password/" --data='{"code":"a.b.c*","new_password":"long enough*"}' "${json[@]}"
attack reset-form -u "$url/reset-password/" --data='code=a.b.c*&new_password=long+enough*&confirm_password=long+enough*' "${form[@]}"
attack refresh -u "$url/refresh/" --data='{"refresh":"a.b.c*"}' "${json[@]}"
attack edit -u "$url/users/1" --method=PUT --data='{"email":"admin@example.com*","first_name":"Mia*","last_name":"Muster*"}' "${both[@]}"
attack edit-id -u "$url/users/9*" --method=PUT --data='{"first_name":"Mia"}' "${both[@]}"
attack password -u "$url/users/9*/password" --method=POST --data='{"password":"long enough*"}' "${both[@]}"
attack key -u "$url/users/keys" --data='{"name":"one*","scopes":["a*"]}' "${both[@]}"
attack key-edit -u "$url/users/keys/9*" --method=PATCH --data='{"name":"two*","is_active":true}' "${both[@]}"
attack key-edit-of -u "$url/users/keys/by-user/1*/9*" --method=PATCH --data='{"name":"two*","is_active":true}' "${both[@]}"
for target in "DELETE users/9" "POST users/9*/make-admin" "POST users/9*/ban" "POST users/9*/unban" "GET users/keys/9" "DELETE users/keys/9" \
  "GET users/keys/by-user/9" "DELETE users/keys/by-user/1*/9"; do
  path=${target#* }
  attack "$(echo "$target" | tr -cs 'A-Za-z\n' -)" -u "$url/$path$([[ $path == *[0-9] ]] && echo '*' || true)" --method="${target% *}" "${admin[@]}"
done
attack api-key -u "$url/users/me" --headers="X-API-Key: lk_x*"
attack bearer -u "$url/users/me" --headers="Authorization: Bearer a.b.c*"
attack headers -u "$url/users/me" --headers="X-Request-Id: one*\nX-Forwarded-For: 10.0.0.1*\nAuthorization: Bearer $token"

for page in "/" "/reset-password/?code=a.b.c" "/verify/?code=a.b.c" "/docs"; do
  wapiti -u "$url$page" --scope page --flush-session -m sql,blindsql,xss,exec,file,redirect,crlf,xxe,ssrf -f txt -o "$out/wapiti$(echo "$page" | tr -c 'a-z\n' _).txt" >/dev/null 2>&1 || true
done
grep -h -A40 'Summary of vulnerabilities' "$out"/wapiti*.txt | grep -E ':' | sort | uniq -c
