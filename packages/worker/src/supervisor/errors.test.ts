import { SandboxGoneError } from '@berth/sandboxes/driver.ts'
import { expect, it } from 'vitest'
import { failureFields, SupervisorProtocolError } from './errors.ts'

it('a sandbox that is gone is told by its reason, and a fault by its error with the stack', () => {
  expect(failureFields(new SandboxGoneError('the supervisor is dead'))).toEqual({ reason: 'the supervisor is dead' })
  const fault = new SupervisorProtocolError('no frame')
  expect(failureFields(fault)).toEqual({ err: fault })
})
