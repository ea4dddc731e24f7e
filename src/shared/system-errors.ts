const EXPLANATIONS: Readonly<Record<string, string>> = {
  EEXIST: 'a part of its path is a file, where a folder is needed',
  ENOTDIR: 'a part of its path is a file, where a folder is needed',
  EISDIR: 'it is a folder',
  ENOENT: 'a folder of its path cannot be made',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the disk is read-only',
  ENOSPC: 'the disk is full',
  ECONNREFUSED: 'nothing listens at its address',
  ENOTFOUND: 'its host is not known',
  CONNECT_TIMEOUT: 'its host does not answer',
}

/** The message of an error about a file or an address. A known system error begins with an explanation. */
export function explainSystemError(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const message = error instanceof Error ? error.message : String(error)
  const explanation = EXPLANATIONS[code]
  return explanation === undefined ? message : `${explanation} (${message || code})`
}
