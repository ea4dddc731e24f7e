import type { Socket } from 'node:net'

/** Waits for an event that brings a value, unless the connection ends before. */
export function untilEvent<Value>(
  socket: Socket,
  event: 'connect' | 'readable' | 'secureConnect',
  look: () => Value | null,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onEvent = () => {
      const value = look()
      if (value !== null) settle(() => resolve(value))
    }
    // What failed is told when the connection has closed.
    const onError = () => undefined
    const onClose = () => settle(() => reject(socket.errored ?? new Error('the connection was closed')))
    const settle = (done: () => void) => {
      socket.off(event, onEvent).off('close', onClose).off('error', onError)
      done()
    }
    socket.on(event, onEvent).on('close', onClose).on('error', onError)
  })
}
