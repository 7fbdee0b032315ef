"""Llama-style GPT over text tokens and four codebooks (our own implementation, Hugging Face tensor names)."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

END = 625
PENALTY_WINDOW = 16


class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return F.rms_norm(x, (x.shape[-1],), self.weight, 1e-6)


class Layer(nn.Module):
    def __init__(self, H, ff, nh):
        super().__init__()
        linear = lambda i, o: nn.Linear(i, o, bias=False)
        self.nh = nh
        self.input_layernorm, self.post_attention_layernorm = RMSNorm(H), RMSNorm(H)
        self.self_attn = nn.ModuleDict({name: linear(H, H) for name in ("q_proj", "k_proj", "v_proj", "o_proj")})
        self.mlp = nn.ModuleDict(dict(gate_proj=linear(H, ff), up_proj=linear(H, ff), down_proj=linear(ff, H)))

    def qkv(self, x, cos, sin):
        batch, length, _ = x.shape
        h = self.input_layernorm(x)
        q, k, v = (
            self.self_attn[n](h).view(batch, length, self.nh, -1).transpose(1, 2)
            for n in ("q_proj", "k_proj", "v_proj")
        )
        half = q.shape[-1] // 2
        rotate = lambda t: t * cos + torch.cat([-t[..., half:], t[..., :half]], -1) * sin
        return rotate(q), rotate(k), v

    def finish(self, x, attended):
        x = x + self.self_attn["o_proj"](attended.transpose(1, 2).flatten(2))
        h, m = self.post_attention_layernorm(x), self.mlp
        return x + m["down_proj"](F.silu(m["gate_proj"](h)) * m["up_proj"](h))


class GPT(nn.Module):
    """Code tables are sums of digit vectors plus a free residual: the same tables at export, but quicker to learn."""

    def __init__(self, H=192, ff=512, nh=3, L=5, n_text=252, n_code=626, vq=4, digits=4, levels=5, parts=None):
        super().__init__()
        self.H, self.nh, self.vq = H, nh, vq
        self.layers = nn.ModuleList([Layer(H, ff, nh) for _ in range(L)])
        self.norm = RMSNorm(H)
        self.emb_text = nn.Embedding(n_text, H)
        onehot = torch.zeros(n_code, digits * levels)
        for code in range(levels**digits):
            for i in range(digits):
                onehot[code, i * levels + code // levels**i % levels] = 1
        self.register_buffer("dig", onehot, persistent=False)
        self.e_res = nn.Parameter(torch.zeros(vq, n_code, H))
        self.e_dig = nn.Parameter(torch.randn(vq, digits * levels, H) * 0.15)
        self.h_res = nn.Parameter(torch.zeros(vq, n_code, H))
        self.h_dig = nn.Parameter(torch.randn(vq, digits * levels, H) * 0.02)
        for name, p in self.named_parameters():
            if p.dim() == 2 and "layers" in name:
                residual = "o_proj" in name or "down" in name
                nn.init.normal_(p, std=H**-0.5 * (1 / math.sqrt(2 * L) if residual else 1))
        nn.init.normal_(self.emb_text.weight, std=0.5)
        if parts:  # initial, final and tone of each token; row 0 is of those that are no syllables
            self.register_buffer("parts", torch.tensor(parts), persistent=False)
            self.part = nn.Parameter(torch.randn(int(self.parts.max()) + 1, H) * 0.3)
        else:
            self.part = None
        head = H // nh
        self.register_buffer("inv", 10000.0 ** (-torch.arange(0, head, 2).float() / head), persistent=False)

    def text(self, ids):
        """Embeddings of text tokens; a Chinese one is the sum of its syllable's parts and a free residual."""
        x = self.emb_text(ids)
        if self.part is None:
            return x
        rows = self.parts[ids]
        return x + (F.embedding(rows, self.part) * (rows > 0).unsqueeze(-1)).sum(-2)

    def tables(self):
        """Code embeddings and code heads, each [books, codes, H]."""
        return self.e_res + self.dig @ self.e_dig, self.h_res + self.dig @ self.h_dig

    def rope(self, position):
        angle = position.unsqueeze(-1).float() * self.inv
        angle = torch.cat([angle, angle], -1)
        return angle.cos(), angle.sin()

    def forward(self, x, guide=None):
        """x: embeddings [batch, length, H] -> hidden states, and the guided heads' losses.

        guide: {layer: {head: key position each query should attend to, or -1}}. Those heads learn to look at the text
        token being spoken, which makes the model follow the text long before it would find out by itself.
        """
        _, length, _ = x.shape
        cos, sin = self.rope(torch.arange(length))
        losses = []
        if guide:
            causal = torch.ones(length, length, dtype=torch.bool).tril()
        for i, layer in enumerate(self.layers):
            q, k, v = layer.qkv(x, cos, sin)
            for head, target in (guide or {}).get(i, {}).items():
                chosen = target >= 0
                logits = (q[:, head] @ k[:, head].transpose(1, 2)) / math.sqrt(q.shape[-1])
                losses.append(F.cross_entropy(logits.masked_fill(~causal, -1e4)[chosen], target[chosen]))
            x = layer.finish(x, F.scaled_dot_product_attention(q, k, v, is_causal=True))
        return self.norm(x), losses

    @torch.no_grad()
    def generate(self, prefixes, max_new=600, temperature=0.3, top_p=0.7, top_k=20, penalty=1.05, seed=0, min_keep=3):
        """ChatTTS's sampling. prefixes: embeddings [length, H] each -> [(codes, hidden states)], and which ones ended."""
        generator = torch.Generator().manual_seed(seed)
        batch, longest = len(prefixes), max(len(p) for p in prefixes)
        embed, heads = self.tables()
        pad = torch.tensor([longest - len(p) for p in prefixes])
        x = torch.stack([F.pad(p, (0, 0, longest - len(p), 0)) for p in prefixes])
        shape = (batch, self.nh, longest + max_new, self.H // self.nh)
        keys, values = [torch.zeros(shape) for _ in self.layers], [torch.zeros(shape) for _ in self.layers]
        done, codes = 0, torch.zeros(batch, max_new, self.vq, dtype=torch.long)
        hidden, end = torch.zeros(batch, max_new, self.H), torch.full((batch,), -1)
        for t in range(max_new):
            now = done + x.shape[1]
            query, key = torch.arange(done, now), torch.arange(now)
            cos, sin = (c.unsqueeze(1) for c in self.rope((query[None] - pad[:, None]).clamp(min=0)))
            mask = (key <= query[:, None])[None] & (key >= pad[:, None])[:, None] | (query[:, None] == key)[None]
            for i, layer in enumerate(self.layers):
                q, keys[i][:, :, done:now], values[i][:, :, done:now] = layer.qkv(x, cos, sin)
                k, v = keys[i][:, :, :now], values[i][:, :, :now]
                x = layer.finish(x, F.scaled_dot_product_attention(q, k, v, attn_mask=mask.unsqueeze(1)))
            done, h = now, self.norm(x[:, -1])
            hidden[:, t] = h
            logits = torch.einsum("bh,vch->bvc", h, heads) / temperature
            if penalty != 1 and t:
                recent = codes[:, max(0, t - PENALTY_WINDOW) : t].transpose(1, 2)
                count = torch.zeros_like(logits).scatter_add_(2, recent, torch.ones(recent.shape))
                count[..., END] = 0
                factor = penalty**count
                logits = torch.where(logits < 0, logits * factor, logits / factor)
            choice = self._sample(logits, top_p, top_k, min_keep, generator)
            end = torch.where((end < 0) & (choice == END).any(1), t, end)
            if (end >= 0).all():
                break
            codes[:, t] = choice.clamp(max=END - 1)
            x = sum(embed[b][codes[:, t, b]] for b in range(self.vq)).unsqueeze(1)
        lengths = [int(e) if e >= 0 else max_new for e in end]
        return [(codes[i, :n], hidden[i, :n]) for i, n in enumerate(lengths)], end >= 0

    def _sample(self, logits, top_p, top_k, min_keep, generator):
        ordered, index = logits.sort(-1, descending=True)
        p = ordered.softmax(-1)
        cut = (p.cumsum(-1) - p) > top_p
        cut[..., :min_keep] = False
        cut[..., top_k:] = True
        p = ordered.masked_fill(cut, -1e9).softmax(-1)
        drawn = torch.multinomial(p.flatten(0, 1), 1, generator=generator).view(len(logits), self.vq, 1)
        return index.gather(-1, drawn).squeeze(-1)
