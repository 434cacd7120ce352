import { isObject } from '@berth/platform/kit/json.ts'
import { GenerateRelay, readGenerateUsage } from './generate-relay.ts'
import type { CountingFormat, FormattedRequest } from './wire-format.ts'

/** Google's own models live under `models/`; other names, such as tuned models, carry their own prefix. */
const nameOf = ({ model }: FormattedRequest['model']): string => (model.includes('/') ? model : `models/${model}`)

const pathTo = ({ model }: FormattedRequest, action: string): string =>
  `/${nameOf(model).split('/').map(encodeURIComponent).join('/')}:${action}`

/** Google's generateContent. The path names the model; the body repeats it only if the client's body did. */
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
        ...(isObject(whole) && { generateContentRequest: { ...whole, model: nameOf(request.model) } }),
      },
    }
  },
  whole(answer) {
    if (!Array.isArray(answer['candidates']) && !isObject(answer['promptFeedback'])) return null
    return { body: answer, usage: readGenerateUsage(answer['usageMetadata']) }
  },
  relay: () => new GenerateRelay(),
}

const namingModel = ({ body, model }: FormattedRequest): Readonly<Record<string, string>> =>
  body['model'] === undefined ? {} : { model: nameOf(model) }
