import { type Static, Type } from 'typebox'
import { outputLimits } from './limits.ts'
import { closed, OpenObject } from './scalar.ts'

/** The JSON result that a Turn asks its Run for. */
export const OutputRequest = Type.Object(
  {
    schema: Type.Unsafe<Readonly<Record<string, unknown>>>({
      ...OpenObject,
      description: `A JSON Schema (2020-12) of at most ${outputLimits.schemaBytes} bytes. \`$ref\` may name members of \`$defs\`, without cycles.`,
    }),
  },
  {
    title: 'OutputRequest',
    description:
      'Asks for a JSON value that satisfies a schema. A Run that completes has it as `result.output`; one whose agent gives no such value, when asked a second time too, fails with `output_invalid`.',
    ...closed,
  },
)

export type OutputRequest = Static<typeof OutputRequest>
