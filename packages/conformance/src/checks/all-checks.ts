import type { Check } from '../check.ts'
import { CREDENTIALS_CHECKS } from './access/credentials.checks.ts'
import { KEY_CHANGES_CHECKS } from './access/key-changes.checks.ts'
import { KEYS_CHECKS } from './access/keys.checks.ts'
import { KEYS_BY_USER_CHECKS } from './access/keys-by-user.checks.ts'
import { ME_CHECKS } from './access/me.checks.ts'
import { METRICS_CHECKS } from './access/metrics.checks.ts'
import { PROTECTED_ROUTES_CHECKS } from './access/protected-routes.checks.ts'
import { SERVICE_CHECKS } from './access/service.checks.ts'
import { FORGOT_PASSWORD_CHECKS } from './accounts/forgot-password.checks.ts'
import { LOGIN_CHECKS } from './accounts/login.checks.ts'
import { REFRESH_CHECKS } from './accounts/refresh.checks.ts'
import { REGISTER_CHECKS } from './accounts/register.checks.ts'
import { REGISTER_VALIDATION_CHECKS } from './accounts/register-validation.checks.ts'
import { RESET_PAGE_CHECKS } from './accounts/reset-page.checks.ts'
import { RESET_PASSWORD_CHECKS } from './accounts/reset-password.checks.ts'
import { VERIFY_CHECKS } from './accounts/verify.checks.ts'
import { ADMINISTRATION_CHECKS } from './users/administration.checks.ts'
import { DELETION_CHECKS } from './users/deletion.checks.ts'
import { EDIT_CHECKS } from './users/edit.checks.ts'
import { LIST_CHECKS } from './users/list.checks.ts'
import { PASSWORD_CHECKS } from './users/password.checks.ts'
import { SEARCH_CHECKS } from './users/search.checks.ts'

/** All checks, in the order in which they start. */
export const ALL_CHECKS: readonly Check[] = [
  ...REGISTER_CHECKS,
  ...REGISTER_VALIDATION_CHECKS,
  ...LOGIN_CHECKS,
  ...REFRESH_CHECKS,
  ...VERIFY_CHECKS,
  ...FORGOT_PASSWORD_CHECKS,
  ...RESET_PASSWORD_CHECKS,
  ...RESET_PAGE_CHECKS,
  ...ME_CHECKS,
  ...LIST_CHECKS,
  ...SEARCH_CHECKS,
  ...EDIT_CHECKS,
  ...PASSWORD_CHECKS,
  ...ADMINISTRATION_CHECKS,
  ...DELETION_CHECKS,
  ...KEYS_CHECKS,
  ...KEY_CHANGES_CHECKS,
  ...KEYS_BY_USER_CHECKS,
  ...CREDENTIALS_CHECKS,
  ...PROTECTED_ROUTES_CHECKS,
  ...SERVICE_CHECKS,
  ...METRICS_CHECKS,
]
