const efforts = ['minimal', 'low', 'medium', 'high', 'max'] as const

/** How hard a model may think. */
export type Effort = (typeof efforts)[number]

export const isEffort = (value: unknown): value is Effort => efforts.some(effort => effort === value)

/** Returns the SDK's level for an effort. Requests without a level leave the choice to the model. */
export const levelOf = (effort: Effort | undefined): Effort | 'off' => effort ?? 'off'
