/** The chapters of the documentation, in the order in which somebody new to the service needs them. */
export const TAGS = [
  { name: 'Accounts', description: 'Register, verify the address, log in, stay logged in, log out.' },
  { name: 'Password reset', description: 'A new password for somebody who has forgotten the old one, by mail.' },
  { name: 'Users', description: 'What users see and change of their own account.' },
  { name: 'User administration', description: 'What admins see and change of all accounts.' },
  { name: 'API keys', description: 'Keys for programs: they never expire, and may do whatever their owner may do.' },
  { name: 'API keys of users', description: 'The keys of any user, for admins.' },
  { name: 'Service', description: 'The state of the service, and its documentation.' },
] as const

export type Tag = (typeof TAGS)[number]['name']
