import { describe, expect, it } from 'vitest'
import { createReachPolicy, plainTarget, tunnelTarget } from './reach-policy.ts'

const policy = createReachPolicy(['http://127.0.0.1:9000', 'https://Example.com', 'http://[::1]:8080/'])
const tunnel = (authority: string) => {
  const target = tunnelTarget(authority)
  return target ? policy(target).kind : 'malformed'
}
const plain = (line: string) => {
  const requested = plainTarget(line)
  return requested ? policy(requested.target).kind : 'malformed'
}

describe('a reach policy', () => {
  it('allows only the named origins', () => {
    expect(tunnel('127.0.0.1:9000')).toBe('allow')
    expect(tunnel('example.com:443')).toBe('allow')
    expect(tunnel('EXAMPLE.COM:443')).toBe('allow')
    expect(tunnel('[::1]:8080')).toBe('allow')
    expect(plain('http://127.0.0.1:9000/a?b')).toBe('allow')
    expect(plain('HTTP://[::1]:8080')).toBe('allow')
    // The https origin opens neither plain http nor another port.
    expect(plain('http://example.com:443/')).toBe('deny')
    expect(plain('http://example.com/')).toBe('deny')
    expect(tunnel('example.com:80')).toBe('deny')
  })

  it('denies other spellings and neighbours of an origin', () => {
    for (const authority of [
      ...['localhost:9000', '127.0.0.1:9001', '127.0.0.2:9000', '0.0.0.0:9000', '[::ffff:127.0.0.1]:9000'],
      ...['[::]:9000', 'localhost.:9000', '127.0.0.1.nip.io:9000', 'example.com.:443', 'www.example.com:443'],
      ...['169.254.169.254:80', '[fd00:ec2::254]:80', '100.100.100.200:80', '[64:ff9b::7f00:1]:9000', '10.0.0.1:9000'],
    ]) {
      expect(tunnel(authority), authority).toBe('deny')
    }
  })

  it('refuses a line that names no target', () => {
    for (const authority of [
      ...['', ':80', 'a', 'a:', 'a:0', 'a:65536', 'a:999999', 'a:80/x', 'a:80?x', 'u@127.0.0.1:9000', 'u:p@a:80'],
      ...['http://127.0.0.1:9000', 'a b:80', '[::1:80', 'a\\b:80', '\t127.0.0.1:9000'],
    ]) {
      expect(tunnel(authority), authority).toBe('malformed')
    }
    for (const line of [
      '/',
      '*',
      '//a/',
      'https://example.com/',
      'ftp://a/',
      'http://',
      'http://u:p@127.0.0.1:9000/',
    ]) {
      expect(plain(line), line).toBe('malformed')
    }
  })

  it('accepts only origins', () => {
    for (const bad of [
      '',
      'example.com',
      'ftp://a',
      'http://a/path',
      'http://a?x',
      'http://u@a',
      'http://a#x',
      'file:///x',
    ]) {
      expect(() => createReachPolicy([bad]), bad).toThrow(TypeError)
    }
  })
})
