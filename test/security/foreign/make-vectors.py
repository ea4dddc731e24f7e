"""Makes the vectors of vectors.json with implementations that share no code with Latchkey.

Debian 12: apt-get install python3-bcrypt python3-passlib python3-django python3-argon2
Run: python3 test/security/foreign/make-vectors.py > made.json, and copy its lists. The vectors of Firebase, Supabase, Keycloak and
better-auth in vectors.json come from those projects; each says from where.
"""
import hashlib, json, base64, os
import bcrypt
from argon2 import low_level
from passlib.hash import pbkdf2_sha1, pbkdf2_sha256, pbkdf2_sha512, scrypt as passlib_scrypt, argon2 as passlib_argon2
import django
from django.conf import settings

settings.configure(PASSWORD_HASHERS=[])
django.setup()
from django.contrib.auth import hashers

PASSWORD = 'correct horse bättery 🗝'
raw = PASSWORD.encode()
made = []

def add(by, hash, password=PASSWORD):
    made.append({'by': by, 'password': password, 'hash': hash})

for kind, name in ((low_level.Type.I, 'argon2i'), (low_level.Type.D, 'argon2d'), (low_level.Type.ID, 'argon2id')):
    add(f'argon2-cffi, {name}', low_level.hash_secret(raw, os.urandom(16), 2, 1024, 1, 32, kind).decode())
add('argon2-cffi, argon2id with 4 lanes', low_level.hash_secret(raw, os.urandom(16), 3, 4096, 4, 32, low_level.Type.ID).decode())
add('argon2-cffi, argon2id, version 16', low_level.hash_secret(raw, os.urandom(16), 2, 1024, 1, 32, low_level.Type.ID, 16).decode())
add('passlib, argon2', passlib_argon2.using(memory_cost=1024, rounds=2, parallelism=1).hash(PASSWORD))
add('Django, argon2', 'argon2' + low_level.hash_secret(raw, b'djangosaltdjango', 2, 1024, 8, 16, low_level.Type.ID).decode())

bhash = bcrypt.hashpw(raw, bcrypt.gensalt(5)).decode()
for prefix in ('2a', '2b', '2y'):
    add(f'bcrypt of Python, {prefix}', f'${prefix}${bhash[4:]}')
long_password = 'x' * 80
add('bcrypt of Python, 80 bytes', bcrypt.hashpw(long_password.encode()[:72], bcrypt.gensalt(5)).decode(), long_password)
add('Django, bcrypt', 'bcrypt$' + bcrypt.hashpw(raw, bcrypt.gensalt(5)).decode())
add('Django, bcrypt_sha256', 'bcrypt_sha256$' + bcrypt.hashpw(hashlib.sha256(raw).hexdigest().encode(), bcrypt.gensalt(5)).decode())

add('passlib, scrypt (PHC)', passlib_scrypt.using(rounds=10, block_size=8, parallelism=1).hash(PASSWORD))
salt = 'DjangoSalt0123456789ab'
key = hashlib.scrypt(raw, salt=salt.encode(), n=2 ** 10, r=8, p=1, dklen=64)
add('hashlib, in the form of Django 4 and later', f"scrypt${2 ** 10}${salt}$8$1${base64.b64encode(key).decode()}")

for module, name in ((pbkdf2_sha1, 'SHA-1'), (pbkdf2_sha256, 'SHA-256'), (pbkdf2_sha512, 'SHA-512')):
    add(f'passlib, pbkdf2 with {name}', module.using(rounds=1500).hash(PASSWORD))
for hasher in (hashers.PBKDF2PasswordHasher(), hashers.PBKDF2SHA1PasswordHasher()):
    add(f'Django, {hasher.algorithm}', hasher.encode(PASSWORD, hasher.salt(), 1500))
for digest in ('sha1', 'sha256', 'sha512'):
    salt = os.urandom(16)
    b64 = lambda b: base64.b64encode(b).decode().rstrip('=')
    key = hashlib.pbkdf2_hmac(digest, raw, salt, 1200, 64)
    add(f'hashlib, pbkdf2 with {digest} and 64 bytes (PHC, and what Keycloak becomes)', f'$pbkdf2-{digest}$i=1200,l=64${b64(salt)}${b64(key)}')

print(json.dumps(made, indent=2, ensure_ascii=False))
