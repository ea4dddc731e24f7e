import type { Schemas } from '../api.ts'
import type { CallOptions } from '../http.ts'
import type { Camel } from '../names.ts'
import type { PasskeyCredential } from './authenticator.ts'
import type { Begin, Call } from './call.ts'
import type { Tokens } from './tokens.ts'

/** What an account has besides its password. */
export type SecondFactor = Camel<Schemas['SecondFactor']>
/** The secret for an app, and the content of a QR code that carries it. */
export type TotpSetup = Schemas['TotpSetup']

export type SecondFactorCalls = {
  /** Completes a login with a code of the app, a recovery code, or a passkey. Starts the session and stores its tokens. */
  complete(challenge: string, answer: string | PasskeyCredential, options?: CallOptions): Promise<Tokens>
  status(options?: CallOptions): Promise<SecondFactor>
  /** The first step of turning codes on. Nothing changes before `confirm`. */
  begin(options?: CallOptions): Promise<TotpSetup>
  /** Turns codes on with a code of the app. Returns the recovery codes, which are never shown again. */
  confirm(code: string, options?: CallOptions): Promise<string[]>
  /** Turns codes off. */
  remove(options?: CallOptions): Promise<void>
  /** Returns new recovery codes. The old ones stop working. */
  renewRecoveryCodes(options?: CallOptions): Promise<string[]>
}

export function secondFactorCalls(call: Call, begin: Begin): SecondFactorCalls {
  const path = '/users/me/second-factor'
  async function codesOf(action: string, fields: object | undefined, options: CallOptions | undefined): Promise<string[]> {
    const { recoveryCodes } = await call<Camel<Schemas['RecoveryCodes']>>('POST', path + action, fields, options)
    return recoveryCodes
  }
  return {
    complete: (challenge, answer, options) =>
      begin('/login/second-factor', { challenge, [typeof answer === 'string' ? 'code' : 'passkey']: answer }, options),
    status: (options) => call<SecondFactor>('GET', path, undefined, options),
    begin: (options) => call<TotpSetup>('POST', `${path}/totp`, undefined, options),
    confirm: (code, options) => codesOf('/totp/confirm', { code }, options),
    remove: (options) => call('DELETE', `${path}/totp`, undefined, options),
    renewRecoveryCodes: (options) => codesOf('/recovery-codes', undefined, options),
  }
}
