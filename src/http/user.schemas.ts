import { Type } from 'typebox'

export const UserId = Type.Integer({ description: 'Assigned by the service.' })

export const UserPath = Type.Object({ user_id: UserId })
