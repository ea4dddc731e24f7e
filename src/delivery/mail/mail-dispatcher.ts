import { createDispatcher, type Dispatcher, type DispatcherOptions } from '../dispatcher.ts'
import { createMailDelivery, type MailDeliveryParts } from './mail.delivery.ts'

export type MailDispatcherParts = Omit<MailDeliveryParts, 'random'> & DispatcherOptions

/** Sends the mails of the outbox. */
export function createMailDispatcher({ random = Math.random, ...parts }: MailDispatcherParts): Dispatcher {
  return createDispatcher(createMailDelivery({ ...parts, random }), { ...parts, random })
}
