const EXPLANATIONS: Readonly<Record<string, string>> = {
  EEXIST: 'a part of its path is a file, not a folder',
  ENOTDIR: 'a part of its path is a file, not a folder',
  EISDIR: 'it is a folder',
  ENOENT: 'a folder in its path cannot be created',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the disk is read-only',
  ENOSPC: 'the disk is full',
  ECONNREFUSED: 'nothing is listening at its address',
  ENOTFOUND: 'its host name cannot be resolved',
  CONNECT_TIMEOUT: 'its host does not respond',
}

/** The message of an error about a file or an address. A known system error begins with an explanation. */
export function explainSystemError(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const message = error instanceof Error ? error.message : String(error)
  const explanation = EXPLANATIONS[code]
  return explanation === undefined ? message : `${explanation} (${message || code})`
}
