import type { ApiError } from '@berth/platform/kit/api-error.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'

/** Returns a 409 that says what stands against a write. */
export const conflict = (message: string): ApiError => refusal('environment_conflict', { message })
