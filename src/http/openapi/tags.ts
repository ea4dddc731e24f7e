/** The sections of the documentation, in the order in which a new reader needs them. */
export const TAGS = [
  { name: 'Accounts', description: 'Register, verify the address, log in, stay logged in, log out.' },
  { name: 'Password reset', description: 'Set a new password with a link that is sent by mail.' },
  { name: 'Users', description: 'Read and change your own account.' },
  { name: 'Sessions', description: 'See where your account is logged in, and end sessions.' },
  { name: 'User administration', description: 'Read and change all accounts, as an admin.' },
  {
    name: 'API keys',
    description: 'Credentials for programs. They have the permissions of their owner, unless their access is limited, and may expire.',
  },
  { name: 'Identity', description: 'Who is calling, for the other services of a product.' },
  { name: 'Sessions of users', description: 'The sessions of any user, for admins.' },
  { name: 'API keys of users', description: 'The keys of any user, for admins.' },
  { name: 'Audit trail', description: 'What was changed, by whom and from where, for admins.' },
  { name: 'Service', description: 'The state of the service, and its documentation.' },
] as const

export type Tag = (typeof TAGS)[number]['name']
