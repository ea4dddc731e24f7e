/** What `toJSON()` of a credential returns in a browser. */
export type PasskeyCredential = object

export type Mediation = 'conditional' | 'optional' | 'required' | 'silent'

/** What asks the person for a passkey. Options and results are JSON. */
export type Authenticator = {
  create(options: object, signal?: AbortSignal): Promise<PasskeyCredential>
  get(options: object, signal?: AbortSignal, mediation?: Mediation): Promise<PasskeyCredential>
}

type Asked = Promise<{ toJSON(): PasskeyCredential }>

/** The part of a browser that asks for passkeys, which the types of Node.js do not have. */
const browser = globalThis as unknown as {
  readonly PublicKeyCredential: Record<'parseCreationOptionsFromJSON' | 'parseRequestOptionsFromJSON', (options: object) => object>
  readonly navigator: { readonly credentials: Record<'create' | 'get', (request: object) => Asked> }
}

/** The authenticators of a browser. They throw its own errors, such as a `NotAllowedError` if the person cancels. */
export const inBrowser: Authenticator = {
  async create(options, signal) {
    const publicKey = browser.PublicKeyCredential.parseCreationOptionsFromJSON(options)
    return (await browser.navigator.credentials.create({ publicKey, signal })).toJSON()
  },
  async get(options, signal, mediation) {
    const publicKey = browser.PublicKeyCredential.parseRequestOptionsFromJSON(options)
    return (await browser.navigator.credentials.get({ publicKey, signal, mediation })).toJSON()
  },
}
