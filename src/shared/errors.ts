const EXPLANATIONS: Readonly<Record<string, string>> = {
  EEXIST: 'a part of its path is a file, not a folder',
  ENOTDIR: 'a part of its path is a file, not a folder',
  EISDIR: 'it is a folder',
  ELOOP: 'it is a symbolic link that leads nowhere',
  ENOENT: 'a folder in its path cannot be created',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the disk is read-only',
  ENOSPC: 'the disk is full',
  ECONNREFUSED: 'nothing is listening at its address',
  ENOTFOUND: 'its host name cannot be resolved',
  CONNECT_TIMEOUT: 'its host does not respond',
}

// As in "FILE does not exist".
const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EACCES: 'cannot be read by this user',
  EISDIR: 'is a folder',
}

/** The code of an error, such as ENOENT; empty if it has none. JavaScript can throw any value. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

/** The message of an error about a file or an address. A known system error begins with an explanation. */
export function explainSystemError(error: unknown): string {
  const explanation = EXPLANATIONS[codeOf(error)]
  const message = messageOf(error)
  return explanation === undefined ? message : `${explanation} (${message || codeOf(error)})`
}

/** Why a file cannot be read, to be written after its name; `own` are the reasons of one kind of file. */
export function explainUnreadable(error: unknown, own: Readonly<Record<string, string>> = {}): string {
  return own[codeOf(error)] ?? UNREADABLE[codeOf(error)] ?? messageOf(error)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/**
 * Makes work that is repeated by a timer report a failure that lasts once, not each time: again only when it fails for another reason, or
 * has succeeded in between. The result never throws, and says whether the work has succeeded.
 */
export function reportingOnce(work: () => Promise<void>, onFailure: (error: unknown) => void): () => Promise<boolean> {
  let lastReason: string | undefined
  return async () => {
    try {
      await work()
      lastReason = undefined
      return true
    } catch (error) {
      const reason = messageOf(error)
      if (reason !== lastReason) onFailure(error)
      lastReason = reason
      return false
    }
  }
}
