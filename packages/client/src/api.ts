// Made from /openapi.json by `npm run client:types`: do not edit.

export interface components {
  schemas: {
    /** @description A new access token. */
    AccessToken: {
      /** @description The access token: send it as `Authorization: Bearer …`. It is valid for 120 minutes. */
      token: string;
    };
    /** @description A key, without its secret. */
    ApiKey: {
      /**
       * Format: uuid
       * @description The id of a key.
       */
      id: string;
      /** @description What the key is for. */
      name: string;
      /**
       * Format: date-time
       * @description When the key was created, in UTC.
       */
      created_at: string;
      /** @description Whether the key is accepted. A key that is not active can be activated again. */
      is_active: boolean;
      /** @description The labels that are stored with the key. */
      scopes: string[];
      /** @description The first nine characters of the secret. Null for a key of an older version. Only with `details=true`, as all below. */
      prefix?: string | null;
      /**
       * @description What the key may call.
       * @enum {unknown}
       */
      access?: "full" | "read" | "identify";
      /**
       * Format: date-time
       * @description When the key expires. Null if it does not.
       */
      expires_at?: string | null;
      /**
       * Format: date-time
       * @description When the key was last used, to the minute. Null if it never was.
       */
      last_used_at?: string | null;
      /** @description How often services accept the key. Null if only the plan limits it. */
      limit?: string | null;
      /**
       * Format: date-time
       * @description When the last former secret of the key stops working. Null if none works.
       */
      retiring_until?: string | null;
    };
    /** @description Omitted fields keep their values. At least one field is required. */
    ApiKeyChanges: {
      /** @description What the key is for. Leading and trailing white space is removed. */
      name?: string;
      /** @description Whether the key is accepted. A key that is not active can be activated again. */
      is_active?: boolean;
      /**
       * Format: date-time
       * @description When the key expires: ISO 8601 with an offset, in the future. With null, it does not expire.
       */
      expires_at?: string | null;
      /**
       * Format: limit
       * @description How often services accept the key, such as `10/m`. With null, only the limits of the plan apply.
       */
      limit?: string | null;
    };
    /** @description How to replace the secret of a key. The body can be left out. */
    ApiKeyRotation: {
      /** @description How long the former secret continues to work. With 0, all former secrets end at once. */
      overlap_seconds?: number;
    };
    /** @description A key with a new secret. */
    ApiKeyWithSecret: {
      /**
       * Format: uuid
       * @description The id of a key.
       */
      id: string;
      /** @description What the key is for. */
      name: string;
      /**
       * Format: date-time
       * @description When the key was created, in UTC.
       */
      created_at: string;
      /** @description Whether the key is accepted. A key that is not active can be activated again. */
      is_active: boolean;
      /** @description The labels that are stored with the key. */
      scopes: string[];
      /** @description The first nine characters of the secret. Null for a key of an older version. Only with `details=true`, as all below. */
      prefix?: string | null;
      /**
       * @description What the key may call.
       * @enum {unknown}
       */
      access?: "full" | "read" | "identify";
      /**
       * Format: date-time
       * @description When the key expires. Null if it does not.
       */
      expires_at?: string | null;
      /**
       * Format: date-time
       * @description When the key was last used, to the minute. Null if it never was.
       */
      last_used_at?: string | null;
      /** @description How often services accept the key. Null if only the plan limits it. */
      limit?: string | null;
      /**
       * Format: date-time
       * @description When the last former secret of the key stops working. Null if none works.
       */
      retiring_until?: string | null;
      /** @description The secret: send it as `X-API-Key: …`. It is never shown again. */
      key: string;
    };
    /** @description A code of the app. */
    Code: {
      /** @description Six digits from the app, or a recovery code. */
      code: string;
    };
    /** @description Exactly one of them shows who is calling. */
    Confirmation: {
      /**
       * Format: password
       * @description The password of the account.
       */
      password?: string;
      /** @description Six digits from the app, or a recovery code. */
      code?: string;
      /** @description What `PublicKeyCredential.toJSON()` returns in a browser. */
      passkey?: Record<string, never>;
    };
    /** @description The result of the request. */
    Detail: {
      /** @description What was done, for people. */
      detail: string;
    };
    /** @description The address that a mail is sent to. */
    EmailAddress: {
      /**
       * Format: email
       * @description An e-mail address. Case does not matter.
       */
      email: string;
    };
    /** @description The body of every error except 422. */
    ErrorResponse: {
      /** @description What went wrong, for people. */
      detail: string;
    };
    /** @description A code of the account pages, and the verifier of its challenge. */
    Exchange: {
      /** @description The `code` with which the account pages led back to the product. */
      code: string;
      /** @description What `code_challenge` is the SHA-256 of, in base64url (RFC 7636). */
      code_verifier: string;
    };
    /** @description One page of search results. */
    FoundUsers: {
      /** @description The users of this page, in order of id. */
      items: components["schemas"]["User"][];
      /** @description The number of users found. */
      total: number;
      /** @description The number of this page, from 1. */
      page: number;
      /** @description The maximum number of users on a page. */
      size: number;
      /** @description The number of pages; 0 if no user was found. */
      pages: number;
    };
    /** @description Who is calling, and with which credential. */
    Identity: {
      /** @description The id of a user. */
      user_id: number;
      /** @description The e-mail address. */
      email: string;
      /** @description The first name. */
      first_name: string;
      /** @description The last name. */
      last_name: string;
      /**
       * @description The role of the user.
       * @enum {string}
       */
      role: "user" | "admin";
      /**
       * @description The kind of credential.
       * @enum {string}
       */
      method: "session" | "api_key";
      /** @description The id of the session; null for an API key. */
      session_id: string | null;
      /** @description The id of the API key; null for a session. */
      key_id: string | null;
      /** @description The scopes of the API key. Null for a session, which is not restricted. */
      scopes: string[] | null;
      /** @description Whether the session has a second factor. Null for an API key. */
      second_factor: boolean | null;
      /**
       * Format: date-time
       * @description When the access token or the API key expires, in UTC. Null for a key that does not expire.
       */
      expires_at: string | null;
      /** @description What the product keeps about the account. With `data=true` only. */
      data?: {
        /** @description What the owner of the account writes. */
        profile: {
          [key: string]: unknown;
        };
        /** @description What only admins write, and the owner reads. */
        app: {
          [key: string]: unknown;
        };
      };
    };
    /** @description A set of public keys (RFC 7517). */
    KeySet: {
      /** @description The keys that have signed tokens which may still be valid, and those that sign next. */
      keys: components["schemas"]["PublicKey"][];
    };
    /** @description The credentials of an account. */
    Login: {
      /**
       * Format: email
       * @description An e-mail address. Case does not matter.
       */
      email: string;
      /**
       * Format: password
       * @description The password of the account.
       */
      password: string;
    };
    /** @description With `second_factor_required`, it also has what the second step needs. */
    LoginRefused: {
      /** @description What went wrong, for people. */
      detail: string;
      /** @description For `POST /login/second-factor`, within five minutes. */
      challenge?: string;
      /** @description What the second step accepts. */
      methods?: ("totp" | "recovery_code" | "passkey")[];
    };
    /** @description The result of the request. */
    Message: {
      /** @description What was done, for people. */
      message: string;
    };
    /** @description A new key. */
    NewApiKey: {
      /** @description What the key is for. Leading and trailing white space is removed. */
      name: string;
      /** @description Labels that are stored with the key. They do not restrict it. Where KEY_SCOPES is set, others are refused. Without this field, or with null, the key has none. */
      scopes?: string[] | null;
      /**
       * @description What the key may call: `full` everything that its owner may call, `read` only GET endpoints, `identify` only endpoints that say who is calling.
       * @enum {unknown}
       */
      access?: "full" | "read" | "identify";
      /**
       * Format: date-time
       * @description When the key expires: ISO 8601 with an offset, in the future. Without this field, or with null, it does not expire.
       */
      expires_at?: string | null;
      /**
       * Format: limit
       * @description How often services accept the key, such as `10/m`: a number per s, m, h or d. The limits of the plan apply too. Without this field, or with null, only those.
       */
      limit?: string | null;
    };
    /** @description A passkey that was just created. */
    NewPasskey: {
      /** @description What its owner calls it. */
      name: string;
      /** @description What `PublicKeyCredential.toJSON()` returns in a browser. */
      credential: Record<string, never>;
    };
    /** @description The new password of an account. */
    NewPassword: {
      /**
       * Format: password
       * @description The new password, used exactly as it is sent.
       */
      password: string;
    };
    /** @description An account that an admin creates. */
    NewUser: {
      /**
       * Format: email
       * @description An e-mail address. Case does not matter.
       */
      email: string;
      /** @description The first name. Leading and trailing white space is removed. */
      first_name: string;
      /** @description The last name. Leading and trailing white space is removed. */
      last_name: string;
      /**
       * Format: password
       * @description The password. Without it, nobody can log in until a reset sets one.
       */
      password?: string;
      /**
       * @description The role of the user.
       * @enum {unknown}
       */
      role?: "user" | "admin";
      /** @description Whether the e-mail address counts as verified. No mail is sent. */
      verified?: boolean;
    };
    /** @description What users see of their own account. */
    OwnAccount: {
      /** @description The e-mail address. */
      email: string;
      /** @description The first name. */
      first_name: string;
      /** @description The last name. */
      last_name: string;
      /** @description The id of the user. Only with `details=true`, as all below. */
      id?: number;
      /**
       * @description The role of the user.
       * @enum {unknown}
       */
      role?: "user" | "admin";
      /** @description Whether the user is banned. */
      banned?: boolean;
      /** @description Whether the e-mail address is verified. */
      verified?: boolean;
      /**
       * Format: date-time
       * @description When the account was created, in UTC.
       */
      created_at?: string;
      /** @description Whether the user has codes of an app or a passkey. */
      second_factor?: boolean;
      /**
       * @description The language of pages and mails, if one is known.
       * @enum {unknown}
       */
      language?: "en" | "de" | "fr" | "es";
    };
    /** @description A passkey of an account. */
    Passkey: {
      /** @description The id of a passkey. */
      id: string;
      /** @description What its owner calls it. */
      name: string;
      /**
       * Format: date-time
       * @description When it was added, in UTC.
       */
      created_at: string;
      /**
       * Format: date-time
       * @description When it was last used, in UTC.
       */
      last_used_at: string | null;
      /** @description Whether its provider keeps a copy. */
      backed_up: boolean;
    };
    /** @description The answer of a passkey. */
    PasskeyLogin: {
      /** @description What `PublicKeyCredential.toJSON()` returns in a browser. */
      credential: Record<string, never>;
    };
    /** @description The new name of a passkey. */
    PasskeyName: {
      /** @description What its owner calls it. */
      name: string;
    };
    /** @description The challenge of a login, if the passkey is its second step. */
    PasskeyQuestion: {
      /** @description The `challenge` of a login that needs a second step. */
      challenge?: string;
    };
    /** @description The current password of the caller and the new one. */
    PasswordChange: {
      /**
       * Format: password
       * @description The password of the account until now. An account without a password leaves it out.
       */
      current_password?: string;
      /**
       * Format: password
       * @description The new password, used exactly as it is sent.
       */
      password: string;
    };
    /** @description The code of a reset link and the new password. */
    PasswordReset: {
      /** @description The code from the link in the mail. */
      code: string;
      /**
       * Format: password
       * @description The new password, used exactly as it is sent.
       */
      new_password: string;
    };
    /** @description The code of a reset link and the new password, as a form. */
    PasswordResetForm: {
      /** @description The code from the link in the mail. */
      code: string;
      /**
       * Format: password
       * @description The new password, used exactly as it is sent.
       */
      new_password: string;
      /**
       * Format: password
       * @description The new password again, to catch typing errors.
       */
      confirm_password?: string;
    };
    /** @description What users see of themselves. */
    Profile: {
      /** @description The e-mail address. */
      email: string;
      /** @description The first name. */
      first_name: string;
      /** @description The last name. */
      last_name: string;
    };
    /** @description A public key (RFC 7517). */
    PublicKey: {
      /** @description The type of the key. */
      kty: string;
      /** @description The curve. */
      crv: string;
      /** @description A coordinate. */
      x: string;
      /** @description A coordinate. */
      y: string;
      /** @description The id of the key, which a token names. */
      kid: string;
      /** @description The algorithm. */
      alg: string;
      /** @description What the key is for. */
      use: string;
    };
    /** @description Codes for the day when the app is lost. */
    RecoveryCodes: {
      /** @description Each works once. They are never shown again. */
      recovery_codes: string[];
    };
    /** @description A refresh token. */
    Refresh: {
      /** @description The `refresh` token from a login or a registration. */
      refresh: string;
    };
    /** @description A new account. */
    Registration: {
      /**
       * Format: email
       * @description An e-mail address. Case does not matter.
       */
      email: string;
      /**
       * Format: password
       * @description The new password, used exactly as it is sent.
       */
      password: string;
      /** @description The first name. Leading and trailing white space is removed. */
      first_name: string;
      /** @description The last name. Leading and trailing white space is removed. */
      last_name: string;
    };
    /** @description What an account has besides its password. */
    SecondFactor: {
      /** @description Whether a login asks for a code of an app. */
      totp: boolean;
      /** @description The number of passkeys. */
      passkeys: number;
      /** @description The number of recovery codes that are left. */
      recovery_codes: number;
      /** @description Whether the service requires a second factor of this account. */
      required: boolean;
    };
    /** @description The challenge of the first step, and either a code or a passkey. */
    SecondStepAnswer: {
      /** @description The `challenge` of a login that needs a second step. */
      challenge: string;
      /** @description Six digits from the app, or a recovery code. */
      code?: string;
      /** @description What `PublicKeyCredential.toJSON()` returns in a browser. */
      passkey?: Record<string, never>;
    };
    /** @description One login or registration. */
    Session: {
      /** @description The id of a session. */
      id: string;
      /**
       * Format: date-time
       * @description When the user logged in, in UTC.
       */
      created_at: string;
      /**
       * Format: date-time
       * @description When the session was last used, in UTC. Up to five minutes out of date.
       */
      last_seen_at: string;
      /**
       * Format: date-time
       * @description When the session ends, in UTC, unless it is revoked earlier.
       */
      expires_at: string;
      /** @description The IP address of the login. */
      ip: string | null;
      /** @description The User-Agent header of the login, cut to 200 characters. */
      user_agent: string | null;
      /** @description How the session was opened: `password`, `passkey`, `email` or the name of a provider. */
      method: string;
      /** @description Whether it was opened with a second factor, or confirmed with one later. */
      second_factor: boolean;
      /** @description Whether this request was made with the session. */
      current: boolean;
    };
    /** @description The two tokens of a session. */
    TokenPair: {
      /** @description The access token: send it as `Authorization: Bearer …`. It is valid for 120 minutes. */
      token: string;
      /** @description The refresh token: exchange it for a new access token at `/refresh/`. It is valid for 30 days. */
      refresh: string;
    };
    /** @description A secret for an app. Nothing changes until a code of it is confirmed, within 15 minutes. */
    TotpSetup: {
      /** @description For the app, in base32. */
      secret: string;
      /** @description The content of a QR code for the app. */
      uri: string;
    };
    /** @description A user, as admins see it. */
    User: {
      /** @description The id of a user. */
      id: number;
      /** @description The e-mail address. */
      email: string;
      /** @description The first name. */
      first_name: string;
      /** @description The last name. */
      last_name: string;
      /**
       * @description The role of the user.
       * @enum {unknown}
       */
      role: "user" | "admin";
      /** @description Whether the user is banned. */
      banned: boolean;
      /** @description Whether the e-mail address is verified. */
      verified: boolean;
    };
    /** @description Omitted fields keep their values. At least one field is required. */
    UserEdit: {
      /**
       * Format: email
       * @description An e-mail address. Case does not matter.
       */
      email?: string;
      /**
       * Format: password
       * @description The new password, used exactly as it is sent.
       */
      password?: string;
      /** @description The first name. Leading and trailing white space is removed. */
      first_name?: string;
      /** @description The last name. Leading and trailing white space is removed. */
      last_name?: string;
      /**
       * @description The language of account pages and mails. With null, pages have that of the browser.
       * @enum {string|null}
       */
      language?: "en" | "de" | "fr" | "es" | null;
    };
    /** @description The request is invalid. Submitted values are never repeated. */
    ValidationError: {
      /** @description All validation issues of the body, or of the path or the query. */
      detail: components["schemas"]["ValidationIssue"][];
    };
    /** @description One problem in a request. */
    ValidationIssue: {
      /** @description The location: `body`, `query` or `path`, then the name of the field, then the index in a list. */
      loc: (string | number)[];
      /** @description What is wrong, for people. */
      msg: string;
      /** @description The kind of issue, for programs. */
      type: string;
    };
  };
  responses: never;
  parameters: never;
  requestBodies: never;
  headers: never;
  pathItems: never;
}


export type Schemas = components['schemas']
export type ValidationIssue = Schemas['ValidationIssue']
/** The codes that calls of this package may meet. */
export type ServiceErrorCode =
  | 'bad_gateway'
  | 'bad_request'
  | 'ban_self'
  | 'body_too_large'
  | 'confirmation_required'
  | 'email_taken'
  | 'expectation_failed'
  | 'gateway_timeout'
  | 'headers_too_large'
  | 'http_version_not_supported'
  | 'internal_error'
  | 'invalid_challenge'
  | 'invalid_code'
  | 'invalid_passkey'
  | 'invalid_request'
  | 'key_expired'
  | 'key_inactive'
  | 'key_invalid'
  | 'key_not_found'
  | 'last_admin'
  | 'login_banned'
  | 'login_unverified'
  | 'method_not_allowed'
  | 'no_session'
  | 'not_authenticated'
  | 'not_implemented'
  | 'not_permitted'
  | 'only_way_in'
  | 'passkey_not_found'
  | 'path_not_found'
  | 'request_timeout'
  | 'revoke_last_admin'
  | 'second_factor_off'
  | 'second_factor_on'
  | 'second_factor_required'
  | 'session_not_found'
  | 'token_expired'
  | 'token_invalid'
  | 'too_many_keys'
  | 'too_many_passkeys'
  | 'too_many_requests'
  | 'unavailable'
  | 'uri_too_long'
  | 'user_not_found'
  | 'wrong_credentials'
