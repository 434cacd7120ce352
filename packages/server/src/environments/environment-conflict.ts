import type { ApiError } from '../kit/api-error.ts'
import { refusal } from '../kit/refusal.ts'

/** Returns a 409 that says what stands against a write. */
export const conflict = (message: string): ApiError => refusal('environment_conflict', { message })
