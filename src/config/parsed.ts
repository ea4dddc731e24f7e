/** The result of parsing one setting: its value, or an error message. The message of a setting that holds a secret does not repeat it. */
export type Parsed<Value> = { readonly value: Value } | { readonly error: string }
