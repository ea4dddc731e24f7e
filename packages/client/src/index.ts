export {
  type AdminClient,
  type AdminClientOptions,
  createAdminClient,
  type FoundUsers,
  type NewUser,
  type User,
  type UserCalls,
  type UserEdit,
  type UserKeyCalls,
  type UserSearch,
} from './admin/admin-client.ts'
export type { ValidationIssue } from './api.ts'
export type { Account, AccountCalls, PasswordChange, Profile, ProfileChanges } from './client/account.ts'
export type { Authenticator, Mediation, PasskeyCredential } from './client/authenticator.ts'
export type { Change, ChangeListener } from './client/changes.ts'
export {
  type Client,
  type ClientOptions,
  type Credentials,
  createClient,
  type LoginResult,
  type Proof,
  type Registration,
  type SecondStep,
} from './client/client.ts'
export type { ApiKey, ApiKeyCalls, ApiKeyChanges, ApiKeyWithSecret, NewApiKey, Rotation } from './client/keys.ts'
export type { Passkey, PasskeyCalls, PasskeySignIn } from './client/passkeys.ts'
export type { RedirectCalls, RedirectSignIn } from './client/redirect.ts'
export type { SecondFactor, SecondFactorCalls, TotpSetup } from './client/second-factor.ts'
export type { SessionCalls, UserSession } from './client/sessions.ts'
export type { TokenStorage, Tokens } from './client/tokens.ts'
export { type ErrorCode, LatchkeyError } from './error.ts'
export type { CallOptions } from './http.ts'
export type { HeaderSource, Identity, OfflineIdentity, Requirement, Verifier } from './verifiers/identity.ts'
export { createOfflineVerifier, type OfflineVerifierOptions } from './verifiers/offline-verifier.ts'
export { createVerifier, type VerifierOptions } from './verifiers/verifier.ts'
