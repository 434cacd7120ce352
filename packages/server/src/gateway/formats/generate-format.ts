import { isObject } from '../../kit/json.ts'
import { GenerateTap, readGenerateUsage } from './generate-tap.ts'
import type { CountingFormat, FormattedRequest } from './wire-format.ts'

/** Google's own models are below `models`; others, such as tuned ones, say where they are. */
const nameOf = ({ model }: FormattedRequest['model']): string => (model.includes('/') ? model : `models/${model}`)

const pathTo = ({ model }: FormattedRequest, action: string): string =>
  `/${nameOf(model).split('/').map(encodeURIComponent).join('/')}:${action}`

/** Google's generateContent. It names its model in the path, and in the body only where that repeats it. */
export const generateFormat: CountingFormat = {
  call: request => ({
    path: pathTo(request, request.streams ? 'streamGenerateContent?alt=sse' : 'generateContent'),
    members: namingModel(request),
  }),
  countCall: request => {
    const whole = request.body['generateContentRequest']
    return {
      path: pathTo(request, 'countTokens'),
      members: {
        ...namingModel(request),
        ...(isObject(whole) && { generateContentRequest: JSON.stringify({ ...whole, model: nameOf(request.model) }) }),
      },
    }
  },
  whole(answer, bytes) {
    if (!Array.isArray(answer['candidates']) && !isObject(answer['promptFeedback'])) return null
    return { body: bytes, usage: readGenerateUsage(answer['usageMetadata']) }
  },
  tap: () => new GenerateTap(),
}

const namingModel = ({ body, model }: FormattedRequest): Readonly<Record<string, string>> =>
  body['model'] === undefined ? {} : { model: JSON.stringify(nameOf(model)) }
