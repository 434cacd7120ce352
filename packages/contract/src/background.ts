import { type Static, Type } from 'typebox'
import { backgroundLimits } from './limits.ts'
import { DateTime, open, openString, text } from './scalar.ts'

const commands = Type.Array(
  Type.Object(
    {
      id: Type.String({ maxLength: 255, description: "The agent's own." }),
      command: text(backgroundLimits.commandCharacters, { description: 'Its beginning.' }),
      truncated: Type.Optional(Type.Boolean({ description: 'Set if the rest of `command` was cut.' })),
      status: openString(['running', 'exited', 'stopped']),
      startedAt: DateTime,
      exitCode: Type.Optional(Type.Integer()),
    },
    open,
  ),
  { maxItems: backgroundLimits.commands },
)

/** The commands that an agent has left running in its sandbox, as its Session has them. */
export const Background = Type.Unsafe<Static<typeof commands>>({
  ...commands,
  description:
    'Commands that the agent has in the background of its sandbox, and the last that have ended. Empty without a sandbox, and absent in lists.',
})

/** `svc.background.updated`: all of them each time. */
export const BackgroundUpdated = Type.Object(
  {
    commands,
    truncated: Type.Optional(Type.Boolean({ description: 'Set if some were left out; those that run come first.' })),
  },
  {
    title: 'BackgroundUpdatedData',
    description: 'The commands that the agent has in the background, and the last that have ended.',
    ...open,
  },
)

export type Background = Static<typeof Background>
